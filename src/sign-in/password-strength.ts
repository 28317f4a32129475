/**
 * Which passwords are taken: not those that attackers try first (NIST SP 800-63B-4, 3.1.1.2). What is known beforehand
 * counts as one character: words of passwords that are often used, the names of the user and of this program, rows of
 * the keyboard, the alphabet and numbers, years, repetitions. Enough has to be left beside it.
 */
const lengthMin = 12
const lengthMax = 256
const unknownMin = 8

/** Systems write the same character in one piece or in two (Unicode NFC, NFD); it is one password. */
export const normalPassword = (password: string): string => password.normalize('NFC')

/** Why a password is not taken; undefined = it is. `names` = of its user. */
export function passwordProblem(written: string, names: readonly (string | null)[]): string | undefined {
  const password = normalPassword(written)
  if (names.some(name => name !== null && plainText(name) === plainText(password)))
    return 'must not be the name or address of the user'
  if (password.length < lengthMin || password.length > lengthMax)
    return `must have ${lengthMin} to ${lengthMax} characters`
  if (unknownLength(password, names) < unknownMin)
    return (
      'is one of those that are tried first: words of common passwords, names, rows of keys, years and repetitions ' +
      'count as one character each; use several words that do not belong together'
    )
  return undefined
}

/** Of the beginnings and middles of passwords in public lists of those that were stolen most often. */
const commonWords = (
  'password passwort passwd motdepasse contrasena senha kennwort geheim secret welcome willkommen letmein iloveyou ' +
  'princess sunshine football baseball basketball superman batman spiderman pokemon starwars dragon monkey shadow ' +
  'master admin administrator root login guest user test default changeme change hello hallo summer winter spring ' +
  'autumn sommer herbst january february march april june july august september october november december monday ' +
  'tuesday wednesday thursday friday saturday sunday trustno michael jennifer jessica jordan thomas daniel ashley ' +
  'charlie computer internet freedom whatever cheese ginger pepper hunter killer soccer hockey liverpool chelsea ' +
  'arsenal barcelona juventus qwerty qwertz azerty access company server system network security service database ' +
  'oracle cisco google microsoft facebook amazon openai claude gemini modelgate gateway litellm proxy token apikey'
).split(' ')
const keyRows = ['qwertyuiop', 'qwertzuiop', 'azertyuiop', 'asdfghjkl', 'zxcvbnm', 'yxcvbnm', '1qaz2wsx3edc4rfv5tgb']
const rows = keyRows.flatMap(row => [row, [...row].toReversed().join('')])
const namePartLengthMin = 3
const rowLengthMin = 4
const runLengthMin = 3

/** In one case, and with the letters that signs stand for: `P@ssw0rd`. */
const lettersOfSigns: Readonly<Record<string, string>> = {
  '@': 'a',
  '4': 'a',
  '0': 'o',
  '1': 'i',
  '!': 'i',
  '3': 'e',
  $: 's',
  '5': 's',
  '7': 't',
}
const plainText = (text: string): string => text.normalize('NFKC').toLowerCase()
const folded = (text: string): string => plainText(text).replaceAll(/[@401!3$57]/g, sign => lettersOfSigns[sign]!)

/** The characters of a password, each part that is known beforehand as one. */
function unknownLength(password: string, names: readonly (string | null)[]): number {
  const plain = plainText(password)
  const letters = folded(password)
  const nameParts = names.flatMap(name => (name === null ? [] : folded(name).split(/[^\p{L}\p{N}]+/u)))
  const words = [...commonWords, ...nameParts.filter(part => part.length >= namePartLengthMin)].map(folded)
  let count = 0
  for (let at = 0; at < plain.length; count++) {
    const wordLengths = words.filter(word => letters.startsWith(word, at)).map(word => word.length)
    const runs = [runLength(plain, at), rowLength(plain, at), yearLength(plain, at), repeatedLength(plain, at)]
    at += Math.max(1, ...wordLengths, ...runs)
  }
  return count
}

/** `aaaa`, `abcd`, `4321`. */
function runLength(text: string, from: number): number {
  const step = text.charCodeAt(from + 1) - text.charCodeAt(from)
  if (![-1, 0, 1].includes(step)) return 0
  let end = from + 2
  while (end < text.length && text.charCodeAt(end) - text.charCodeAt(end - 1) === step) end++
  return end - from >= runLengthMin ? end - from : 0
}

/** Keys that lie side by side, in both directions. */
function rowLength(text: string, from: number): number {
  let length = rowLengthMin
  while (from + length <= text.length && rows.some(row => row.includes(text.slice(from, from + length)))) length++
  return length > rowLengthMin ? length - 1 : 0
}

const year = /^(?:19|20)\d\d/
const yearLength = (text: string, from: number): number => (year.test(text.slice(from, from + 4)) ? 4 : 0)

/** What stands just before once more. */
function repeatedLength(text: string, from: number): number {
  for (let length = Math.min(from, text.length - from); length > 1; length--)
    if (text.startsWith(text.slice(from - length, from), from)) return length
  return 0
}
