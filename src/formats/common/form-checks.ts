/** Checks of form fields: everything is text there, and a file is what the gateway noted of it. */
import { isObject } from './field-checks.ts'
import type { Check } from './field-checks.ts'

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

/** The text of a number between both ends. */
export function formNumber(field: string, least: number, most: number): Check {
  const what = `a number between ${least} and ${most}`
  return (value, problems) => {
    if (typeof value !== 'string' || !/^[+-]?\d*\.?\d+(e[+-]?\d+)?$/i.test(value.trim()))
      return problems.wrong([field], what, value)
    const number = Number(value)
    if (!(number >= least && number <= most)) problems.outOfRange([field], what, value)
  }
}

/** `true` or `false`, in any case: Python writes `True`. */
export function formBoolean(field: string): Check {
  return (value, problems) => {
    if (typeof value !== 'string' || !/^(true|false)$/i.test(value)) problems.wrong([field], 'true or false', value)
  }
}

/** A text once, or a list of texts. */
export function formTexts(field: string): Check {
  return (value, problems) => {
    const texts: unknown[] = Array.isArray(value) ? value : [value]
    if (!texts.every(text => typeof text === 'string')) problems.wrong([field], 'text', value)
  }
}
