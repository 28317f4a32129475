/** Several texts of a message as one, for hosts that take a message as a string. */

/** A new line stands between two texts where neither brings white space: the last word of one must not run into the next. */
export function joinTexts(texts: readonly string[]): string {
  let joined = ''
  for (const text of texts) {
    if (text === '') continue
    const apart = joined === '' || /\s$/.test(joined) || /^\s/.test(text)
    joined += apart ? text : `\n${text}`
  }
  return joined
}
