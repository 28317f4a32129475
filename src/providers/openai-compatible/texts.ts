/** Joins the texts of a message, for hosts that take a message as a string. */

/** Inserts a line break between two texts without white space between them, so that words are not merged. */
export function joinTexts(texts: readonly string[]): string {
  let joined = ''
  for (const text of texts) {
    if (text === '') continue
    const isSeparate = joined === '' || /\s$/.test(joined) || /^\s/.test(text)
    joined += isSeparate ? text : `\n${text}`
  }
  return joined
}
