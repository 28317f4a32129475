/** Texts of the pages in the viewer's language. One file a language; `en.json` says which texts exist. */
import en from './en.json'

/** The name of a text. */
export type StringKey = keyof typeof en

/** A catalogue of another language has every text of `en.json`: the types see to it. */
export type Catalogue = Readonly<Record<StringKey, string>>

const others: Readonly<Record<string, () => Promise<{ readonly default: Catalogue }>>> = {
  de: () => import('./de.json'),
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

/** Loads the language. Called once, before anything is shown. */
export async function loadStrings(): Promise<void> {
  document.documentElement.lang = language
  const load = others[language]
  if (load) texts = (await load()).default
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
  const text = texts[key]
  return values ? text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole)) : text
}
