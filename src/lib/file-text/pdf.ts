/**
 * The text of PDF files (ISO 32000-1): what their pages show, the strings of forms, notes and properties, and
 * embedded files. Objects are found by their form, not by the cross-reference table: what a damaged or changed file
 * still holds is read as well.
 */
import { hasShownText, shownText } from './pdf-content.ts'
import { fontOf } from './pdf-fonts.ts'
import type { PdfFont } from './pdf-fonts.ts'
import { objectsOf, streamBytes } from './pdf-objects.ts'
import type { PdfObject, PdfObjects } from './pdf-objects.ts'
import { stringsOf } from './pdf-strings.ts'
import type { Reading } from './reading.ts'
import type { ReadingBudget } from './reading-budget.ts'

/** The fonts that a content may use, by their names there; several where the name stands for several. */
type Fonts = ReadonlyMap<string, readonly PdfFont[]>

interface PdfParts {
  readonly budget: ReadingBudget
  /** Reads a file that is embedded. */
  embedded(bytes: Uint8Array): Iterable<Reading>
}

/** Everything that can be read, and whether something could not. */
export function* pdfReadings(bytes: Uint8Array, { budget, embedded }: PdfParts): Generator<Reading> {
  const objects = objectsOf(bytes, budget)
  if (objects.isEncrypted) {
    yield { unreadable: 'an encrypted PDF' }
    return
  }
  const strings = objects.all.flatMap(one => stringsOf(one.text)).join('\n')
  if (strings !== '') yield { text: strings }
  const fonts = new PageFonts(objects, budget)
  let unreadable = objects.unreadable
  let isShown = false
  let hasPictures = false
  for (const object of objects.all) {
    if (!object.stream || /\/Type\s*\/(?:XRef|ObjStm)\b/.test(object.text)) continue
    hasPictures ||= isPicture(object)
    if (isPicture(object) || isFontProgram(object)) continue
    const content = budget.isSpent ? undefined : streamBytes(object, budget)
    if (!content) unreadable++
    else if (isEmbedded(object)) yield* embedded(content)
    else {
      const text = Buffer.from(content).toString('latin1')
      if (text.includes('begincmap')) continue
      if (!hasShownText(text)) {
        yield { text: Buffer.from(content).toString('utf8') }
        continue
      }
      const shown = shownText(text, fonts.of(object))
      isShown = true
      if (shown.text !== '') yield { text: shown.text }
      if (shown.unknown > shown.text.length / 4) unreadable++
    }
  }
  if (unreadable > 0) yield { unreadable: 'a PDF with parts that cannot be read' }
  else if (!isShown && hasPictures) yield { unreadable: 'a PDF of pictures' }
}

const isPicture = ({ text }: PdfObject): boolean => /\/Subtype\s*\/Image\b/.test(text)
const isFontProgram = ({ text }: PdfObject): boolean =>
  /\/Length1\b|\/Subtype\s*\/(?:Type1C|CIDFontType0C|OpenType)\b|\/FunctionType\b|\/ShadingType\b|\/Alternate\b/.test(
    text,
  )
const isEmbedded = ({ text }: PdfObject): boolean => /\/Type\s*\/EmbeddedFile\b|\/Subtype\s*\/\w+#2F/.test(text)

/** Which font a name means depends on the page, or the form, that the content belongs to. */
class PageFonts {
  readonly #objects: PdfObjects
  readonly #budget: ReadingBudget
  readonly #made = new Map<string, PdfFont>()
  readonly #byContent = new Map<number, Fonts>()
  #all: Fonts | undefined

  constructor(objects: PdfObjects, budget: ReadingBudget) {
    this.#objects = objects
    this.#budget = budget
    for (const { text } of objects.all) {
      if (!/\/Type\s*\/Page\b/.test(text)) continue
      const contents = /\/Contents\s*(?:\[([^[\]]*)\]|(\d+)\s+\d+\s+R)/.exec(text)
      const numbers = (contents?.[1]?.match(/\d+(?=\s+\d+\s+R)/g) ?? [contents?.[2] ?? '']).map(Number)
      const fonts = this.#resources(text, 0)
      if (fonts) for (const number of numbers) this.#byContent.set(number, fonts)
    }
  }

  of(content: PdfObject): Fonts {
    return this.#byContent.get(content.number) ?? this.#resources(content.text, 0) ?? this.#everywhere()
  }

  /** Of a page, a form, a node of the page tree, or of resources; undefined = it has none. */
  #resources(text: string, depth: number): Fonts | undefined {
    if (depth > 8) return undefined
    const direct = /\/Font\s*(?:<<([^<>]*)>>|(\d+)\s+\d+\s+R)/.exec(text)
    if (direct) return this.#named([direct[1] ?? this.#objects.byNumber.get(Number(direct[2]))?.text ?? ''])
    const further = /\/Resources\s+(\d+)\s+\d+\s+R/.exec(text) ?? /\/Parent\s+(\d+)\s+\d+\s+R/.exec(text)
    const next = further && this.#objects.byNumber.get(Number(further[1]))
    return next ? this.#resources(next.text, depth + 1) : undefined
  }

  #everywhere(): Fonts {
    return (this.#all ??= this.#named(
      this.#objects.all.flatMap(({ text }) => {
        const found = /\/Font\s*(?:<<([^<>]*)>>|(\d+)\s+\d+\s+R)/.exec(text)
        return found ? [found[1] ?? this.#objects.byNumber.get(Number(found[2]))?.text ?? ''] : []
      }),
    ))
  }

  #named(dictionaries: readonly string[]): Fonts {
    const fonts = new Map<string, PdfFont[]>()
    for (const text of dictionaries)
      for (const [, name = '', number = ''] of text.matchAll(/\/([^\s/<>[\]()]+)\s+(\d+)\s+\d+\s+R/g)) {
        const font = this.#font(number)
        const known = fonts.get(name) ?? []
        if (font && !known.includes(font)) fonts.set(name, [...known, font])
      }
    return fonts
  }

  #font(number: string): PdfFont | undefined {
    const known = this.#made.get(number)
    const object = known ? undefined : this.#objects.byNumber.get(Number(number))
    if (!object) return known
    const font = fontOf(object.text, this.#objects, this.#budget)
    this.#made.set(number, font)
    return font
  }
}
