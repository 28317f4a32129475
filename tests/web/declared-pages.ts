/**
 * What the pages declare of themselves (`web/pages/NAME.page.ts`), in the order of the navigation, and every text.
 * `web` and `tests` are checked by the types of different worlds: the parts that tests need stand here.
 */
import { Glob } from 'bun'
import { join } from 'node:path'
import german from '../../web/strings/de.json'
import english from '../../web/strings/en.json'

type Texts = Readonly<Record<string, string>>

interface Declaration {
  readonly title: { readonly en: string; readonly de: string }
  readonly nav?: { readonly group: string | null; readonly place: number; readonly key: string }
  readonly for: ((session: object) => boolean) | null
  readonly isOpen?: boolean
  readonly isBare?: boolean
}

interface NamedPage extends Declaration {
  /** Of its files: `model-hub`. */
  readonly name: string
  readonly path: string
}

interface DeclaringModule {
  readonly page: Declaration
  /** Absent = it has no texts of its own. */
  readonly t?: { readonly own: { readonly en: Texts; readonly de: Texts } }
}

// The texts are those of the browser's language; this runs in none.
Object.defineProperty(navigator, 'languages', { value: ['en-US'], configurable: true })

const web = join(import.meta.dir, '../../web')
const modules: Record<string, DeclaringModule> = {}
// Parts with an underscore are for developers alone.
for (const file of [...new Glob('[a-z]*.page.ts').scanSync(join(web, 'pages'))].sort())
  modules[file] = (await import(join(web, 'pages', file))) as DeclaringModule

const { namedPages } = (await import(join(web, 'frame/page-declaration.ts'))) as {
  namedPages(declared: Readonly<Record<string, Declaration>>): readonly NamedPage[]
}

/** Every page of the panel. */
export const pages = namedPages(Object.fromEntries(Object.entries(modules).map(([file, { page }]) => [file, page])))

/** The texts that several pages have, then those of each page. */
export const catalogues: readonly { readonly en: Texts; readonly de: Texts }[] = [
  { en: english, de: german },
  ...Object.values(modules).flatMap(({ t }) => t?.own ?? []),
]

/** Texts of forms, which several pages have. */
const { t: formTexts } = (await import(join(web, 'components/forms/field-texts.ts'))) as {
  t: { readonly own: { readonly en: Texts; readonly de: Texts } }
}

/** Every text of a language by its key. */
export const textsIn = (language: 'en' | 'de'): Texts =>
  Object.assign({}, formTexts.own[language], ...catalogues.map(one => one[language]))
