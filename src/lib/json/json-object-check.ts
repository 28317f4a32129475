/** A cheap check of a text's first and last character, where parsing the text would cost too much. */
import { closeBrace, openBrace } from './json-bytes.ts'

const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9

/** Whether `text` from `from` on begins and ends as a JSON object does. What is in between is not checked. */
export function looksLikeObject(text: string, from = 0): boolean {
  let at = from
  while (isSpace(text.charCodeAt(at))) at++
  if (text.charCodeAt(at) !== openBrace) return false
  let last = text.length - 1
  while (isSpace(text.charCodeAt(last))) last--
  return last > at && text.charCodeAt(last) === closeBrace
}
