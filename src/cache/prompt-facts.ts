/** What two prompts that mean about the same must not differ in: an embedding hardly sees it. */

/** Numbers, dates and amounts; with their sign and unit signs. */
const numbers = /[-+]?[$€£¥]?\d+(?:[.,:/-]\d+)*\s?%?/gu
/** What is in quotes of any kind, and code. */
const quoted = /"([^"]+)"|“([^”]+)”|«([^»]+)»|`([^`]+)`|'([^']{2,})'/gu
/** Words that turn a sentence around, in the languages that the gateway meets most. */
const negations = new Set([
  ...['not', 'no', 'never', 'none', 'without', 'except', 'neither', 'nor', 'cannot', 'unless', 'exclude', 'excluding'],
  ...['dont', 'doesnt', 'didnt', 'isnt', 'arent', 'wasnt', 'werent', 'wont', 'cant', 'shouldnt', 'wouldnt', 'couldnt'],
  ...['nicht', 'kein', 'keine', 'keinen', 'nie', 'ohne', 'pas', 'sans', 'jamais', 'nunca', 'sin', 'ningún', 'non'],
  ...['before', 'after', 'above', 'below', 'more', 'less', 'increase', 'decrease', 'enable', 'disable', 'min', 'max'],
  ...['minimum', 'maximum', 'first', 'last', 'best', 'worst', 'buy', 'sell', 'true', 'false', 'from', 'to'],
])
/** Names: words with a capital letter that do not begin a sentence, abbreviations, addresses, identifiers. */
const names = /(?<=[^.!?\s]\s+)\p{Lu}[\p{L}\d-]+|\b\p{Lu}{2,}\b|[\w.+-]+@[\w.-]+|\bhttps?:\/\/\S+|\b\w*[_\d]\w*\b/gu

/**
 * Numbers, quotations, names and words of negation or direction, in order: prompts whose facts differ are different
 * questions, however alike their embeddings are.
 */
export function factsOf(prompt: string): string {
  const found = (pattern: RegExp) => [...prompt.matchAll(pattern)].map(([match]) => match.trim().toLowerCase())
  const words =
    prompt
      .toLowerCase()
      .replaceAll(/['’]/g, '')
      .match(/\p{L}+/gu) ?? []
  const turned = words.filter(word => negations.has(word))
  return JSON.stringify([found(numbers), found(quoted), found(names).sort(), turned])
}
