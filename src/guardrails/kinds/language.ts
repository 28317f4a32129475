/**
 * The language of a text, as eld tells it by pieces of words (https://github.com/nitotm/efficient-language-detector-
 * js).
 */
import { GuardrailProblem } from '../check.ts'
import type { Check, CheckParts, Judgement } from '../check.ts'
import type { GuardrailParams } from '../params.ts'

/** What eld tells apart. Its tables are loaded with the first text, hence the codes stand here. */
export const detectedLanguages: ReadonlySet<string> = new Set(
  (
    'am ar az be bg bn ca cs da de el en es et eu fa fi fr gu he hi hr hu hy is it ja ka kn ko ku lo lt lv ml mr ms ' +
    'nl no or pa pl pt ro ru sk sl sq sr sv ta te th tl tr uk ur vi yo zh'
  ).split(' '),
)

/** What eld takes for another language: a list of languages that names the one means the others too. */
const takenFor: Readonly<Record<string, readonly string[]>> = {
  nb: ['no'],
  nn: ['no'],
  id: ['ms'],
  bs: ['hr'],
  mk: ['bg', 'sr'],
  ne: ['hi', 'mr'],
}

/** A text with fewer says nothing of its language. */
const lettersLeast = 8
/** eld reads so many characters of a text. */
const pieceCharacters = 1000

/** Tells the language of at most `pieceCharacters`. */
interface Detector {
  detect(text: string): { readonly language: string; isReliable(): boolean }
}

/** The ISO 639 code of the language that most of the text is in; undefined = it does not say. */
function languageOf(text: string, detector: Detector): string | undefined {
  if ((text.match(/\p{L}/gu)?.length ?? 0) < lettersLeast) return undefined
  const characters = new Map<string, number>()
  for (let from = 0; from < text.length; from += pieceCharacters) {
    const piece = text.slice(from, from + pieceCharacters)
    const found = detector.detect(piece)
    if (found.language === '' || !found.isReliable()) continue
    characters.set(found.language, (characters.get(found.language) ?? 0) + piece.length)
  }
  return [...characters].sort(([, one], [, other]) => other - one)[0]?.[0]
}

/** Lets a text pass that is in one of the languages, and one that does not say which it is in. */
export function language({ settings }: CheckParts): Check {
  const { languages, action = 'block' } = settings.params as GuardrailParams
  if (!languages) throw new GuardrailProblem(['languages'], 'is missing; list the languages that may pass, as [en, de]')
  if (action === 'mask') throw new GuardrailProblem(['action'], 'a language cannot be masked; use block or flag')
  const unknown = languages.findIndex(one => !detectedLanguages.has(one) && !takenFor[one])
  if (unknown >= 0) {
    const known = [...detectedLanguages, ...Object.keys(takenFor)].sort().join(' ')
    throw new GuardrailProblem(['languages', unknown], `is not told from others; these are: ${known}`)
  }
  const passing = new Set(languages.flatMap(one => [one, ...(takenFor[one] ?? [])]))
  const judged = (contents: readonly string[], detector: Detector): Judgement => {
    const found = contents.map(text => languageOf(text, detector)).find(one => one !== undefined && !passing.has(one))
    if (found === undefined) return { verdict: 'pass' }
    const reason = `it seems to be in '${found}', and may be in ${languages.join(', ')}`
    return { verdict: action, reason, found: [`LANGUAGE_${found}`] }
  }
  let detector: Detector | undefined
  return {
    judge({ contents }) {
      if (detector) return judged(contents, detector)
      return import('eld/small').then(({ eld }) => judged(contents, (detector = eld)))
    },
  }
}
