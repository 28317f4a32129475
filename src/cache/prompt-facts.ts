/** What two prompts that mean about the same must not differ in: an embedding hardly sees it. */

/** Numbers, dates and amounts; with their sign, unit signs, and the word behind them: `7 am`, `100 euros`. */
const numbers = /[-+]?[$€£¥]?\d+(?:[.,:/-]\d+)*\s?(?:%|\p{L}+)?/gu
/** What is in quotes of any kind, and code. */
const quoted = /"([^"]+)"|“([^”]+)”|«([^»]+)»|`([^`]+)`|'([^']{2,})'/gu

const list = (words: string): string[] => words.split(' ')

/** Words that turn a sentence around, or name one of a few things, in the languages that the gateway meets most. */
const telling: ReadonlySet<string> = new Set([
  // Negation.
  ...list('not no never none without except neither nor cannot unless exclude excluding dont doesnt didnt isnt arent'),
  ...list('wasnt werent wont cant shouldnt wouldnt couldnt nicht kein keine keinen nie ohne pas sans jamais nunca sin'),
  ...list('ningún non'),
  // Direction, comparison and order.
  ...list('before after above below more less fewer min max minimum maximum best worst true false from to into'),
  ...list(
    'first second third fourth fifth next previous last left right up down on off in out over under inside outside',
  ),
  ...list(
    'buy sell increase decrease raise lower enable disable open close start stop begin end add remove lock unlock',
  ),
  ...list('win lose send receive import export push pull lend borrow hire fire allow forbid accept reject install'),
  ...list('uninstall connect disconnect encrypt decrypt upload download rise fall grow shrink highest lowest largest'),
  ...list('smallest oldest youngest newest longest shortest cheapest all some any only both'),
  // Units.
  ...list(
    'kilogram kilo kg pound lb ounce oz gram ton mile kilometre kilometer km metre meter foot feet inch yard litre',
  ),
  ...list('liter gallon celsius fahrenheit dollar euro yen franc rupee second minute hour day week month year'),
  // Colours.
  ...list('red blue green yellow orange white black brown grey gray purple pink'),
  // Languages, days and months are names in English, and often written small.
  ...list(
    'english german french spanish italian portuguese dutch polish russian arabic chinese japanese korean turkish',
  ),
  ...list('hindi greek latin swedish monday tuesday wednesday thursday friday saturday sunday january february april'),
  ...list('june july august september october november december'),
])

/** Names: words with a capital letter that do not begin a sentence, abbreviations, addresses, identifiers. */
const names = /(?<=[^.!?\s]\s+)\p{Lu}[\p{L}\d-]+|\b\p{Lu}{2,}\b|[\w.+-]+@[\w.-]+|\bhttps?:\/\/\S+|\b\w*[_\d]\w*\b/gu

/** `raises`, `raised`, `raising` -> `raise`; undefined = says nothing. */
function tellingWord(word: string): string | undefined {
  if (telling.has(word)) return word
  const stem = /^(.{2,}?)(?:s|es|d|ed|ing)$/u.exec(word)?.[1]
  if (stem === undefined) return undefined
  return [stem, `${stem}e`].find(one => telling.has(one))
}

/**
 * Numbers, quotations, names and telling words, in their order: prompts whose facts differ are different questions,
 * however alike their embeddings are.
 */
export function factsOf(prompt: string): string {
  const found = (pattern: RegExp) => [...prompt.matchAll(pattern)].map(([match]) => match.trim().toLowerCase())
  const words =
    prompt
      .toLowerCase()
      .replaceAll(/['’]/g, '')
      .match(/\p{L}+/gu) ?? []
  return JSON.stringify([found(numbers), found(quoted), found(names), words.flatMap(one => tellingWord(one) ?? [])])
}
