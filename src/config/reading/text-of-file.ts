/** The text of the configuration file, or why it cannot be read. */
import { readFileSync, statSync } from 'node:fs'
import { errorCode } from '../../lib/error-code.ts'

/** Throws an error whose one line names the file, what is wrong with it, and the remedy where there is one. */
export function textOfFile(path: string): string {
  try {
    if (statSync(path).isDirectory()) throw new Error('is a directory; name the file in it, such as config.yaml')
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`${path}: ${reasonOf(error as Error)}`, { cause: error })
  }
}

function reasonOf(error: Error): string {
  const code = errorCode(error)
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'no such file'
  if (code === 'EACCES' || code === 'EPERM') return 'this user may not read it; run chmod or chown as its owner'
  return code === '' ? error.message : `cannot be read: ${error.message}`
}
