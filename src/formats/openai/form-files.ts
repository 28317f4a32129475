/** Files of forms: the JSON view of a form holds what the gateway noted of each. */
import { isObject } from '../../lib/json/json-values.ts'
import type { Check } from '../common/field-checks.ts'

/** As the OpenAPI document shows it: the bytes of a file. */
export const uploadedFile = { type: 'string', contentMediaType: 'application/octet-stream' }

/** `{filename, content_type, bytes}` as the JSON view of a form holds it. */
function isFile(value: unknown): value is { bytes: number } {
  return isObject(value) && typeof value.filename === 'string' && typeof value.bytes === 'number'
}

/** A file that is not empty; `most` files where a list is allowed. */
export function fileField(field: string, most = 1): Check {
  const what = most === 1 ? 'one file, sent with a filename' : `a file or up to ${most}, each sent with a filename`
  return (value, problems) => {
    const files: unknown[] = Array.isArray(value) ? value : [value]
    if (files.length > most) return problems.wrong([field], what, value)
    for (const file of files) {
      if (!isFile(file)) problems.wrong([field], what, typeof file === 'string' ? 'text' : file)
      else if (file.bytes === 0)
        problems.add([field], `\`${field}\` is an empty file; send one with content`, 'out_of_range')
    }
  }
}
