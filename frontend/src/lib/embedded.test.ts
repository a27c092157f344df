import { expect, test } from "vitest";
import { respond, unpack, widened, type Embedded } from "./embedded";

async function packed(content: BlobPart): Promise<string> {
  const stream = new Blob([content]).stream().pipeThrough(new CompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(String.fromCharCode(...bytes));
}
const page: Embedded = {
  address: "#/examples/3",
  holds: "text 3 of demo.atlas",
  next: "headatlas serve demo.atlas",
  tabs: null,
  live: false,
  files: {
    "api/atlas.json": await packed('{"name":"</script>"}'),
    "api/map.bin": await packed(Uint8Array.of(0, 1, 255)),
  },
  rounded: ["api/map.bin"],
};

test("a response is unpacked", async () => {
  expect(await (await respond(page, "api/atlas.json")).json()).toEqual({ name: "</script>" });
  expect([...(await unpack(await packed(Uint8Array.of(7, 0, 200)), false))]).toEqual([7, 0, 200]);
});

test("rounded values keep the ends of the range", async () => {
  const bytes = await (await respond(page, "api/map.bin")).arrayBuffer();
  expect([...new Uint16Array(bytes)]).toEqual([0, 257, 65535]);
  expect(widened(new Uint8Array(0)).length).toBe(0);
});

test("what is not in the file is an error in one sentence", async () => {
  for (const path of ["api/examples/4.json", "constructor", "__proto__"]) {
    const response = await respond(page, path);
    expect(response.status).toBe(404);
    expect((await response.json()).error).toEqual({
      status: 404,
      message: "This page holds text 3 of demo.atlas only, not what would be shown here.",
      next: "headatlas serve demo.atlas",
    });
  }
});
