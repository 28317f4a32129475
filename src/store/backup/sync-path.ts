import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Makes what was written last to a file, or in a directory, outlive a loss of power. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
