/**
 * Texts of the pages in the viewer's language. Those of one page stand in its declaration beside it; the
 * others in one file a language, and `en.json` says which there are.
 */
import en from './en.json'

/** The name of a text that several pages have. */
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
  Partial<Record<Language, () => Promise<[{ readonly default: Catalogue }, { readonly default: Refusals }]>>>
> = {
  de: () => Promise.all([import('./de.json'), import('./refusals-de.json')]),
}

/** Languages with their own names. */
export const languages = { en: 'English', de: 'Deutsch' } as const

type Language = keyof typeof languages

/** A text in every language. */
export type InLanguages = Readonly<Record<Language, string>>

const storageKey = 'modelgate.language'

function chosenLanguage(): Language {
  let kept: string | null = null
  try {
    kept = localStorage.getItem(storageKey)
  } catch {
    // Storage may be refused: the browser's language is used.
  }
  const wanted = [kept, ...navigator.languages].map(one => one?.slice(0, 2))
  return wanted.find(isLanguage) ?? 'en'
}

function isLanguage(name: string | undefined): name is Language {
  return name !== undefined && Object.hasOwn(languages, name)
}

/** What the pages are shown in; a change loads them anew. */
export const language: Language = chosenLanguage()

/** What several pages have. */
let shared: Readonly<Record<string, string>> = en
let refusals: Refusals = {}

/** Loads the language. Called once, before anything is shown. */
export async function loadStrings(): Promise<void> {
  document.documentElement.lang = language
  const load = others[language]
  if (!load) return
  const [catalogue, sentences] = await load()
  shared = catalogue.default
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
  return filled(shared[key]!, values)
}

/** The text in the viewer's language. */
export function textOf(text: InLanguages): string {
  return text[language]
}

/**
 * Makes the `t` of a page, which knows its own texts beside those that several pages have. The types see to it that
 * every language has each of them.
 */
/* @__NO_SIDE_EFFECTS__ */
export function textsOf<Own extends string>(own: Readonly<Record<Language, Readonly<Record<Own, string>>>>) {
  const texts: Readonly<Record<string, string>> = own[language]
  const t = (key: Own | StringKey, values?: Readonly<Record<string, string | number>>): string =>
    filled(texts[key] ?? shared[key]!, values)
  return Object.assign(t, { own })
}

/** The names of the texts that the `t` of a page knows. */
export type KeyOf<T extends (key: never) => string> = Parameters<T>[0]

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
