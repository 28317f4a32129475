/** Texts of the pages in the viewer's language. One file a language; `en.json` says which texts exist. */
import en from './en.json'

/** The name of a text. */
export type StringKey = keyof typeof en

/** A catalogue of another language has every text of `en.json`: the types see to it. */
export type Catalogue = Readonly<Record<StringKey, string>>

/**
 * Sentences for refusals of the gateway, whose own are English: by `code`, or by `type` where there is no code; with
 * the kind of a problem behind a dot where a value is wrong. `{field}` is what the gateway names; what else it says
 * stands beside the sentence.
 */
type Refusals = Readonly<Record<string, string>>

const others: Readonly<
  Record<string, () => Promise<[{ readonly default: Catalogue }, { readonly default: Refusals }]>>
> = {
  de: () => Promise.all([import('./de.json'), import('./refusals-de.json')]),
}

/** Languages with their own names. */
export const languages: Readonly<Record<string, string>> = { en: 'English', de: 'Deutsch' }

const storageKey = 'modelgate.language'

function chosenLanguage(): string {
  let kept: string | null = null
  try {
    kept = localStorage.getItem(storageKey)
  } catch {
    // Storage may be refused: the browser's language is used.
  }
  const wanted = [kept, ...navigator.languages].map(one => one?.slice(0, 2))
  return wanted.find(one => one !== undefined && Object.hasOwn(languages, one)) ?? 'en'
}

/** What the pages are shown in; a change loads them anew. */
export const language: string = chosenLanguage()

let texts: Catalogue = en
let refusals: Refusals = {}

/** Loads the language. Called once, before anything is shown. */
export async function loadStrings(): Promise<void> {
  document.documentElement.lang = language
  const load = others[language]
  if (!load) return
  const [catalogue, sentences] = await load()
  texts = catalogue.default
  refusals = sentences.default
}

export function setLanguage(name: string): void {
  try {
    localStorage.setItem(storageKey, name)
  } catch {
    // Without storage the choice cannot outlive the page.
  }
  location.reload()
}

/** The text, with `{names}` replaced by values. */
export function t(key: StringKey, values?: Readonly<Record<string, string | number>>): string {
  return filled(texts[key], values)
}

/** What the gateway says of a request that it refuses. */
export interface Refusal {
  /** Its sentence, in English. */
  readonly message: string
  readonly type?: string | null
  readonly code?: string | null
  /** The field that is wrong. */
  readonly field?: string | null
  /** What is wrong with the field: `missing`. */
  readonly problem?: string | null
}

/** The refusal in the language of the pages, or in the gateway's own words where the language has none for it. */
export function refusalText({ message, type, code, field, problem }: Refusal): string {
  const text = [`${code}.${problem}`, code, type].map(name => refusals[name ?? '']).find(one => one !== undefined)
  return text === undefined ? message : filled(text, { field: field || t('all.request') })
}

function filled(text: string, values?: Readonly<Record<string, string | number>>): string {
  return values ? text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole)) : text
}
