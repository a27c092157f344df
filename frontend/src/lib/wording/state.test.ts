import { expect, it } from "vitest";
import { stateText } from "./state";

it("what the page shows is said in words, without an address", () => {
  const params = { of: "tree", level: "7", head: "3.10", color: "previous", view: "1.00,2.00,3.00", cluster: "2" };
  expect(stateText("Overview", null, null, params, "text")).toBe(
    "Headatlas, Overview; clustering tree; level 7; pattern 2; head L3·H10; colored by previous",
  );
  expect(stateText("Examples", "12", "example", { heads: "0.2,3.5,x", head: "0.2" }, "text")).toBe(
    "Headatlas, Examples; heads L0·H2, L3·H5; text 12",
  );
});
