/** Generated text and its tokens. A token is a piece of at most four characters. */

const charactersPerToken = 4

const words = (
  'a the this that one some every other small large quiet early river bridge signal window garden morning ' +
  'engine letter number answer question model gateway stream token light stone paper table silver winter ' +
  'opens carries follows counts measures returns crosses holds keeps finds slowly often never always near'
).split(' ')

/** Tokens of a text, as billed: a quarter of its UTF-16 code units, rounded up. */
export function countTokens(text: string): number {
  return Math.ceil(text.length / charactersPerToken)
}

/** The text in pieces of at most four UTF-16 code units; surrogate pairs are kept together. */
export function tokensOf(text: string): string[] {
  const tokens: string[] = []
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + charactersPerToken, text.length)
    const last = text.charCodeAt(end - 1)
    if (end < text.length && last >= 0xd800 && last < 0xdc00) end--
    tokens.push(text.slice(at, end))
    at = end
  }
  return tokens
}

/** A sentence of 6 to 13 words. */
export function sentence(random: () => number): string {
  const length = 6 + Math.floor(random() * 8)
  const text = Array.from({ length }, () => words[Math.floor(random() * words.length)]!).join(' ')
  return `${text[0]!.toUpperCase()}${text.slice(1)}.`
}

/** A text of exactly `count` tokens, four characters each. */
export function textOfTokens(count: number, random: () => number): string {
  const pieces: string[] = []
  for (let at = 0; at < count; at++)
    pieces.push(`${words[Math.floor(random() * words.length)]!.slice(0, 3)} `.padStart(charactersPerToken, '~'))
  return pieces.join('')
}
