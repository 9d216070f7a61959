// Saves files on the user's computer.

export function saveText(name: string, type: string, text: string): void {
  saveFile(name, new Blob([text], { type }));
}

export function saveCanvas(name: string, canvas: HTMLCanvasElement | null): void {
  canvas?.toBlob((picture) => {
    if (picture !== null) {
      saveFile(name, picture);
    }
  });
}

export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // Some browsers read the URL only after the click has been handled.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
