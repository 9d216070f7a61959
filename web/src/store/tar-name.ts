/** The names of tar files, compressed or not. */
export const TAR_NAME = /\.tar$|\.tar\.gz$|\.tgz$/;
