// Live frames. One WebSocket a page; the next picture is asked for when the last one is on the screen, so that what
// comes is always the newest, and a page that nobody sees asks for nothing.

export class Frames {
  // show({run, metrics, note, token}, bitmap or null)
  constructor(show, trouble = () => {}) {
    this.show = show;
    this.trouble = trouble;
    this.wish = null;
    this.socket = null;
    this.retry = null;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.rest() : this.connect()));
    addEventListener("pagehide", () => this.rest());
  }

  look(wish) {
    const same = JSON.stringify(wish) === JSON.stringify(this.wish);
    this.wish = wish;
    if (!wish.runs.length) this.rest();
    else if (!this.socket) this.connect();
    else if (!same && this.socket.readyState === WebSocket.OPEN) this.ask();
  }

  ask() {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(this.wish));
  }

  rest() {
    clearTimeout(this.retry);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
  }

  connect() {
    if (this.socket || document.hidden || !this.wish?.runs.length) return;
    clearTimeout(this.retry);
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/frames`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.ask();
    socket.onmessage = (event) => this.take(socket, event.data);
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.socket = null;
      this.trouble("No connection to the viewer.");
      this.retry = setTimeout(() => this.connect(), 1500);
    };
    this.socket = socket;
  }

  async take(socket, data) {
    const length = new DataView(data).getUint32(0);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
    const jpeg = new Uint8Array(data, 4 + length);
    try {
      const bitmap = jpeg.length ? await createImageBitmap(new Blob([jpeg], { type: "image/jpeg" })) : null;
      if (this.socket === socket) this.show(header, bitmap);
      bitmap?.close();
    } finally {
      if (this.socket === socket) requestAnimationFrame(() => this.ask());
    }
  }
}

// Draws a picture at its own size; the style sheet scales it. Small ones keep their pixels.
export function paint(canvas, bitmap) {
  if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) {
    canvas.width = bitmap.width;
    canvas.height = bitmap.height;
    canvas.classList.toggle("coarse", Math.max(bitmap.width, bitmap.height) < 260);
    canvas.parentElement.style.setProperty("--ratio", bitmap.width / bitmap.height);
  }
  canvas.getContext("2d").drawImage(bitmap, 0, 0);
}
