// Shows the page in a frame below the cell, and passes its requests on to the kernel. The frame cannot reach the
// notebook: all it can do is send messages, of which only requests are passed on.
function render({ model, el }) {
  const view = Math.random().toString(36).slice(2); // a widget may be shown in several cells
  const frame = document.createElement("iframe");
  frame.title = "Headatlas";
  frame.setAttribute("sandbox", model.get("sandbox"));
  Object.assign(frame.style, { width: "100%", height: `${model.get("height")}px`, border: "0", display: "block" });
  const ask = ({ source, data }) => {
    if (source !== frame.contentWindow || !data?.headatlas) return;
    const { id, path, method, body, cancel } = data.headatlas;
    model.send({ view, id, path, method, body, cancel });
  };
  const answer = (message, buffers) => {
    if (message.view !== view) return;
    const { buffer, byteOffset, byteLength } = buffers[0]; // a view of a larger buffer
    const body = buffer.slice(byteOffset, byteOffset + byteLength);
    frame.contentWindow?.postMessage({ headatlas: { id: message.id, status: message.status, body } }, "*", [body]);
  };
  addEventListener("message", ask);
  model.on("msg:custom", answer);
  frame.srcdoc = model.get("page");
  el.append(frame);
  return () => {
    removeEventListener("message", ask);
    model.off("msg:custom", answer);
  };
}
export default { render };
