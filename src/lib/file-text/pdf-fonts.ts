/** Which characters the codes of a font stand for (ISO 32000-1, 9.6 to 9.10). */
import { streamBytes } from './pdf-objects.ts'
import type { PdfObjects } from './pdf-objects.ts'
import type { ReadingBudget } from './reading-budget.ts'

/** A font as far as its text goes. */
export interface PdfFont {
  /** Of a code. */
  readonly bytes: 1 | 2
  /** undefined = not known. */
  character(code: number): string | undefined
  /** How far it goes, in thousandths of the size. */
  width(code: number): number
}

/** Where a font does not say. */
export const defaultWidth = 500

const windows1252 = new TextDecoder('windows-1252').decode(Uint8Array.from({ length: 256 }, (_, at) => at))

/** Names of glyphs in `Differences`, beside letters and digits that name themselves (Adobe Glyph List). */
const glyphs: Readonly<Record<string, string>> = {
  ...{ zero: '0', one: '1', two: '2', three: '3', four: '4', five: '5', six: '6', seven: '7', eight: '8', nine: '9' },
  ...{ space: ' ', hyphen: '-', minus: '-', period: '.', comma: ',', colon: ':', semicolon: ';', slash: '/', at: '@' },
  ...{ plus: '+', underscore: '_', parenleft: '(', parenright: ')', quotesingle: "'", quotedbl: '"', equal: '=' },
  ...{ ampersand: '&', percent: '%', numbersign: '#', dollar: '$', exclam: '!', question: '?', asterisk: '*' },
  ...{
    endash: '–',
    emdash: '—',
    quoteright: '’',
    quoteleft: '‘',
    fi: 'fi',
    fl: 'fl',
    ff: 'ff',
    ffi: 'ffi',
    ffl: 'ffl',
  },
  ...{ adieresis: 'ä', odieresis: 'ö', udieresis: 'ü', germandbls: 'ß', eacute: 'é', egrave: 'è', ccedilla: 'ç' },
}

/** `text` = its dictionary. */
export function fontOf(text: string, objects: PdfObjects, budget: ReadingBudget): PdfFont {
  const isComposite = /\/Subtype\s*\/Type0\b/.test(text)
  const map = toUnicode(text, objects, budget)
  const differences = isComposite ? undefined : differencesOf(text, objects)
  const widths = isComposite ? compositeWidths(text, objects) : simpleWidths(text, objects)
  return {
    bytes: isComposite ? 2 : 1,
    width: code => widths.get(code) ?? defaultWidth,
    character(code) {
      const mapped = map?.get(code)
      if (mapped !== undefined || isComposite) return mapped
      return differences?.get(code) ?? windows1252[code]
    },
  }
}

function toUnicode(text: string, objects: PdfObjects, budget: ReadingBudget): ReadonlyMap<number, string> | undefined {
  const object = objects.byNumber.get(Number(/\/ToUnicode\s+(\d+)\s+\d+\s+R/.exec(text)?.[1] ?? NaN))
  const bytes = object?.stream && streamBytes(object, budget)
  return bytes && characterMap(Buffer.from(bytes).toString('latin1'))
}

const codesMax = 65_536

/** Of all ranges of a font together: they may say the same again and again. */
const stepsMax = 4 * codesMax

/** A CMap: single codes and ranges (Adobe Technical Note 5411). */
function characterMap(cmap: string): Map<number, string> {
  const map = new Map<number, string>()
  let steps = 0
  const text = (hex: string): string => new TextDecoder('utf-16be').decode(Buffer.from(hex.replace(/\s/g, ''), 'hex'))
  const add = (code: number, value: string): void => void (steps++ < stepsMax && map.set(code, value))
  for (const body of sections(cmap, 'bfchar'))
    for (const [, code = '', to = ''] of body.matchAll(/<([^<>]*)>\s*<([^<>]*)>/g)) add(parseInt(code, 16), text(to))
  for (const body of sections(cmap, 'bfrange'))
    for (const [, low = '', high = '', list, to = ''] of body.matchAll(
      /<([^<>]*)>\s*<([^<>]*)>\s*(?:\[([^[\]]*)\]|<([^<>]*)>)/g,
    )) {
      const [from, end] = [parseInt(low, 16), Math.min(parseInt(high, 16), codesMax)]
      const each = list?.match(/<[^<>]*>/g)?.map(one => text(one.slice(1, -1)))
      const first = text(to)
      const last = first.charCodeAt(first.length - 1)
      for (let code = from; code <= end && steps < stepsMax; code++)
        add(code, each ? (each[code - from] ?? '') : first.slice(0, -1) + String.fromCharCode(last + code - from))
    }
  return map
}

/** What stands between `begin...` and `end...`. */
function* sections(cmap: string, name: string): Generator<string> {
  for (let at = 0; ; ) {
    const begin = cmap.indexOf(`begin${name}`, at)
    const end = begin < 0 ? -1 : cmap.indexOf(`end${name}`, begin)
    if (end < 0) return
    yield cmap.slice(begin, end)
    at = end
  }
}

/** `FirstChar` and `Widths`. */
function simpleWidths(text: string, objects: PdfObjects): ReadonlyMap<number, number> {
  const first = Number(/\/FirstChar\s+(\d+)/.exec(text)?.[1] ?? 0)
  const listed = listAt(text, 'Widths', objects).match(numbers) ?? []
  return new Map(listed.map((width, at) => [first + at, Number(width)]))
}

/** `W` of the font below: `code [width ...]`, or `first last width`. */
function compositeWidths(text: string, objects: PdfObjects): ReadonlyMap<number, number> {
  const below = objects.byNumber.get(Number(/(\d+)\s+\d+\s+R/.exec(listAt(text, 'DescendantFonts', objects))?.[1]))
  const widths = new Map<number, number>()
  let steps = 0
  const list = below ? listAt(below.text, 'W', objects) : ''
  for (const [, first, each, from, to, width] of list.matchAll(/(\d+)\s*\[([^[\]]*)\]|(\d+)\s+(\d+)\s+([-+.\d]+)/g)) {
    if (each !== undefined)
      (each.match(numbers) ?? []).forEach((one, at) => widths.set(Number(first) + at, Number(one)))
    else
      for (let code = Number(from); code <= Number(to) && widths.size < codesMax && steps++ < stepsMax; code++)
        widths.set(code, Number(width))
  }
  return widths
}

const numbers = /[-+]?\d*\.?\d+/g

/** What stands in the brackets of an entry, or of the object that it names. */
function listAt(text: string, name: string, objects: PdfObjects): string {
  const found = new RegExp(`/${name}\\s*(?:\\[((?:[^\\[\\]]|\\[[^\\]]*\\])*)\\]|(\\d+)\\s+\\d+\\s+R)`).exec(text)
  return found?.[1] ?? objects.byNumber.get(Number(found?.[2]))?.text ?? ''
}

function differencesOf(text: string, objects: PdfObjects): ReadonlyMap<number, string> | undefined {
  const referred = /\/Encoding\s+(\d+)\s+\d+\s+R/.exec(text)?.[1]
  const encoding = referred === undefined ? text : (objects.byNumber.get(Number(referred))?.text ?? '')
  const list = /\/Differences\s*\[([^\]]*)\]/.exec(encoding)?.[1]
  if (list === undefined) return undefined
  const map = new Map<number, string>()
  let code = 0
  for (const [, number, name = ''] of list.matchAll(/(\d+)|\/([^\s/]+)/g)) {
    if (number !== undefined) code = Number(number)
    else map.set(code++, glyphText(name))
  }
  return map
}

/** U+FFFD for a name that says nothing. */
function glyphText(name: string): string {
  if (/^[A-Za-z]$/.test(name)) return name
  const hex = /^u(?:ni)?([0-9A-F]{4,6})$/.exec(name)?.[1]
  if (hex !== undefined && parseInt(hex, 16) <= 0x10ffff) return String.fromCodePoint(parseInt(hex, 16))
  return glyphs[name] ?? '\ufffd'
}
