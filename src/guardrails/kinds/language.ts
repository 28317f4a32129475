/** The language of a text, by its script and its most frequent small words. */
import { GuardrailProblem } from '../check.ts'
import type { Check, CheckParts } from '../check.ts'
import type { GuardrailParams } from '../params.ts'

/** Scripts that say which languages a text may be in. */
const scripts: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\p{Script=Hiragana}|\p{Script=Katakana}/gu, ['ja']],
  [/\p{Script=Hangul}/gu, ['ko']],
  [/\p{Script=Han}/gu, ['zh', 'ja']],
  [/\p{Script=Arabic}/gu, ['ar', 'fa', 'ur']],
  [/\p{Script=Hebrew}/gu, ['he']],
  [/\p{Script=Greek}/gu, ['el']],
  [/\p{Script=Thai}/gu, ['th']],
  [/\p{Script=Devanagari}/gu, ['hi', 'mr', 'ne']],
  [/\p{Script=Bengali}/gu, ['bn']],
  [/\p{Script=Tamil}/gu, ['ta']],
  [/\p{Script=Georgian}/gu, ['ka']],
  [/\p{Script=Armenian}/gu, ['hy']],
  [/\p{Script=Cyrillic}/gu, ['ru', 'uk', 'bg', 'sr', 'be', 'mk']],
]

/** The most frequent words of languages with Latin letters, and of those with Cyrillic ones. */
const smallWords: Readonly<Record<string, string>> = {
  en: 'the of and to in is that it was for on are with as at be this have from or not what how can you we',
  de: 'der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden wie ich wir',
  fr: 'de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il je nous vous avec',
  es: 'de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ya este yo',
  it: 'di e il la che in a per un è non sono una del con si da come le dei nel alla più anche ma io gli della',
  pt: 'de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu',
  nl: 'de van het een en in is dat op te zijn met voor niet aan er om ook als dan maar bij nog uit wordt ik je wij',
  pl: 'w i na z do nie się że to jest o jak po za od przez dla co ale czy tak już ma są być oraz może',
  sv: 'och i att det som en på är av för med till den har de inte om ett men var jag från så kan när vi',
  da: 'og i at det er en til på som for med den der de af ikke har et var jeg men kan om så vi fra',
  no: 'og i det er på en som til for med å at av ikke har den et var jeg men kan om så vi fra ble også',
  fi: 'ja on ei että se hän oli joka mutta kun niin myös ovat olla minä sen kuin tai voi sekä mukaan',
  cs: 'a se v na je že s z do i to o k ve pro za by ale si po jako jsou od které byl nebo jsem také',
  tr: 've bir bu da için de ile ne çok o ama gibi daha ben var kadar en olarak olan değil mi sonra',
  ro: 'de și în la a cu pe nu o că din să un mai pentru se este care ca sunt sau au fost am',
  hu: 'a az és hogy nem is egy ez meg de csak van volt már ha mint azt el még kell lehet vagy',
  ru: 'и в не на я что с он а по это как но из у к за от так же бы было для вы мы или',
  uk: 'і в не на що з я та до як це у за але від про так для ми або вже був його ви є',
  bg: 'и на да се в за от с не е че по са като ще до или към си той беше във',
}

const dictionaries = Object.entries(smallWords).map(([code, words]) => [code, new Set(words.split(' '))] as const)
const wordsLeast = 4
/** The best language must have so many more small words than the next one. */
const leadLeast = 1.3

/** ISO 639 codes that the text may be in, the most likely first; empty = it does not say. */
function languagesOf(text: string): readonly string[] {
  const letters = text.match(/\p{L}/gu)?.length ?? 0
  if (letters < 8) return []
  for (const [script, codes] of scripts) {
    const share = (text.match(script)?.length ?? 0) / letters
    if (codes[0] === 'ja' ? share > 0.05 : share > 0.5) return codes.length > 3 ? byWords(text, codes) : codes
  }
  return byWords(
    text,
    dictionaries.map(([code]) => code).filter(code => !/^(?:ru|uk|bg)$/.test(code)),
  )
}

function byWords(text: string, codes: readonly string[]): readonly string[] {
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? []
  if (words.length < wordsLeast) return []
  const scored = dictionaries
    .filter(([code]) => codes.includes(code))
    .map(([code, known]) => ({ code, score: words.filter(word => known.has(word)).length / words.length }))
    .sort((a, b) => b.score - a.score)
  const [best, next] = scored
  if (!best || best.score < 0.08) return []
  if (next && best.score < next.score * leadLeast) return scored.filter(one => one.score > 0.08).map(one => one.code)
  return [best.code]
}

/** Lets a text pass that is in one of the languages, and one that does not say which it is in. */
export function language({ settings }: CheckParts): Check {
  const { languages, action = 'block' } = settings.params as GuardrailParams
  if (!languages) throw new GuardrailProblem(['languages'], 'is missing; list the languages that may pass, as [en, de]')
  if (action === 'mask') throw new GuardrailProblem(['action'], 'a language cannot be masked; use block or flag')
  return {
    judge({ contents }) {
      for (const text of contents) {
        const found = languagesOf(text)
        if (found.length === 0 || found.some(one => languages.includes(one))) continue
        return {
          verdict: action,
          reason: `it seems to be in '${found[0]}', and may be in ${languages.join(', ')}`,
          found: [`LANGUAGE_${found[0]}`],
        }
      }
      return { verdict: 'pass' }
    },
  }
}
