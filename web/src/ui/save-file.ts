// Saves files on the user's computer.

/** Pictures have twice the pixels of their size on the page, for sharp print and displays. */
const PICTURE_SCALE = 2;

export function saveText(name: string, type: string, text: string): void {
  saveFile(name, new Blob([text], { type }));
}

/** Saves an SVG picture as PNG. */
export async function savePicture(name: string, svg: string): Promise<void> {
  const url = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = image.width * PICTURE_SCALE;
    canvas.height = image.height * PICTURE_SCALE;
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((picture) => {
      if (picture !== null) {
        saveFile(name, picture);
      }
    });
  } finally {
    URL.revokeObjectURL(url);
  }
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
