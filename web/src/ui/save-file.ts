// Files that leave the page by the visitor's own hand.

export function saveText(name: string, type: string, text: string): void {
  save(name, new Blob([text], { type }));
}

export function saveCanvas(name: string, canvas: HTMLCanvasElement | null): void {
  canvas?.toBlob((picture) => {
    if (picture !== null) {
      save(name, picture);
    }
  });
}

export function save(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser has taken hold of it by the next turn, but not every one by this.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
