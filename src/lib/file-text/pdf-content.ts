/** The text that a content stream of PDF shows, in the order of its operators (ISO 32000-1, 9.4). */
import { defaultWidth } from './pdf-fonts.ts'
import type { PdfFont } from './pdf-fonts.ts'
import { readString } from './pdf-strings.ts'

/** A text that the content stream of a page shows. */
export interface ShownText {
  readonly text: string
  /** Codes whose character is not known; U+FFFD stands for each. */
  readonly unknown: number
}

/** It has operators that show text. */
export const hasShownText = (content: string): boolean =>
  /\bBT\b/.test(content) && /(?:T[jJ]|['"])(?:\s|$)/.test(content)

/** In sizes of the font: what begins nearer to the end of the text before it goes on with its word. */
const gapMax = 0.18
const overlapMax = 0.3

const number = /[-+]?(?:\d+\.?\d*|\.\d+)/y
const word = /[A-Za-z*'"]+\d?/y
const nameToken = /\/[^\s/<>[\](){}%]*/y

/** What stands elsewhere on the line begins a word, on another one a line. An unknown font has one byte a code. */
export function shownText(content: string, fonts: ReadonlyMap<string, readonly PdfFont[]>): ShownText {
  const reader = new ContentReader(fonts)
  for (let at = 0; at < content.length; ) {
    const letter = content[at]!
    if (letter === '(' || (letter === '<' && content[at + 1] !== '<')) {
      const { value, end } = readString(content, at)
      reader.string(value)
      at = end
      continue
    }
    const pattern = letter === '/' ? nameToken : /[-+.\d]/.test(letter) ? number : word
    pattern.lastIndex = at
    const token = pattern.exec(content)?.[0]
    if (letter === '%') at = lineEnd(content, at)
    else if (token === undefined) at++
    else {
      at += token.length
      if (pattern === number) reader.number(Number(token))
      else if (pattern === nameToken) reader.name(token.slice(1))
      else if (reader.operator(token) === 'picture') at = pictureEnd(content, at)
    }
  }
  return reader.shown
}

const lineEnd = (content: string, at: number): number => {
  const end = content.indexOf('\n', at)
  return end < 0 ? content.length : end
}

/** Behind the bytes of an inline picture. */
const pictureEnd = (content: string, at: number): number => {
  const end = /\sEI(?=\s)/g
  end.lastIndex = at
  return end.exec(content) ? end.lastIndex : content.length
}

/** Scale and origin of a coordinate system; what is turned is read as if it were not. */
interface Frame {
  readonly scaleX: number
  readonly scaleY: number
  readonly x: number
  readonly y: number
}

const pageFrame: Frame = { scaleX: 1, scaleY: 1, x: 0, y: 0 }

class ContentReader {
  readonly #fonts: ReadonlyMap<string, readonly PdfFont[]>
  #font: readonly PdfFont[] = []
  #size = 1
  #operands: number[] = []
  #strings: (string | number)[] = []
  #name = ''
  #frame = pageFrame
  readonly #frames: Frame[] = []
  /** Of the line, in the frame. */
  #line = pageFrame
  /** How far the text of the line has come, in its scale. */
  #advance = 0
  #characterSpace = 0
  #wordSpace = 0
  /** Where the text before ended, on the page. */
  #end = { x: Number.NaN, y: Number.NaN }
  #text = ''
  #unknown = 0

  constructor(fonts: ReadonlyMap<string, readonly PdfFont[]>) {
    this.#fonts = fonts
  }

  get shown(): ShownText {
    return { text: this.#text, unknown: this.#unknown }
  }

  string(value: string): void {
    this.#strings.push(value)
  }

  number(value: number): void {
    this.#operands.push(value)
    this.#strings.push(value)
  }

  name(value: string): void {
    this.#name = value
  }

  /** `picture` = bytes of a picture follow. */
  operator(name: string): 'picture' | undefined {
    this.#work(name)
    this.#operands = []
    this.#strings = []
    return name === 'ID' ? 'picture' : undefined
  }

  #work(name: string): void {
    const operands = this.#operands
    const last = operands.at(-1) ?? 0
    switch (name) {
      case 'q':
        if (this.#frames.length < 100) this.#frames.push(this.#frame)
        break
      case 'Q':
        this.#frame = this.#frames.pop() ?? pageFrame
        break
      case 'cm':
        this.#frame = within(this.#frame, frameOf(operands))
        break
      case 'BT':
        this.#begin(pageFrame)
        break
      case 'Tf':
        this.#font = this.#fonts.get(this.#name) ?? []
        this.#size = last
        break
      case 'Tc':
        this.#characterSpace = last
        break
      case 'Tw':
        this.#wordSpace = last
        break
      case 'Td':
      case 'TD':
        this.#begin(within(this.#line, { ...pageFrame, x: operands.at(-2) ?? 0, y: last }))
        break
      case 'Tm':
        this.#begin(frameOf(operands))
        break
      case 'T*':
        this.#begin(within(this.#line, { ...pageFrame, y: -1 }))
        break
      case "'":
      case '"':
        this.#begin(within(this.#line, { ...pageFrame, y: -1 }))
        this.#show(this.#strings.slice(-1))
        break
      case 'Tj':
      case 'TJ':
        this.#show(this.#strings)
    }
  }

  #begin(line: Frame): void {
    this.#line = line
    this.#advance = 0
  }

  #show(strings: readonly (string | number)[]): void {
    for (const one of strings) {
      if (typeof one === 'number') this.#advance -= (one / 1000) * this.#size
      else if (one !== '') this.#showOne(one)
    }
  }

  #showOne(codes: string): void {
    const { x, y, size } = this.#place()
    if (Math.abs(y - this.#end.y) > size / 4) this.#separate('\n')
    else if (x - this.#end.x > gapMax * size || this.#end.x - x > overlapMax * size) this.#separate(' ')
    const { text, unknown, width } = this.#decoded(codes)
    this.#text += text
    this.#unknown += unknown
    const spaces = text.split(' ').length - 1
    this.#advance += (width / 1000) * this.#size + text.length * this.#characterSpace + spaces * this.#wordSpace
    this.#end = this.#place()
  }

  /** On the page, with the size of the font there. */
  #place(): { readonly x: number; readonly y: number; readonly size: number } {
    const { x, y, scaleX } = within(this.#frame, within(this.#line, { ...pageFrame, x: this.#advance }))
    return { x, y, size: Math.abs(this.#size * scaleX) }
  }

  #separate(sign: string): void {
    if (this.#text !== '' && !/\s$/.test(this.#text)) this.#text += sign
  }

  /** By the first of the fonts of this name that knows all codes, else by the first. */
  #decoded(codes: string): DecodedText {
    const readings = this.#font.map(font => decoded(codes, font))
    return (
      readings.find(({ unknown }) => unknown === 0) ??
      readings[0] ?? { text: codes, unknown: 0, width: codes.length * defaultWidth }
    )
  }
}

const frameOf = (operands: readonly number[]): Frame => {
  const [scaleX = 1, , , scaleY = 1, x = 0, y = 0] = operands.slice(-6)
  return { scaleX, scaleY, x, y }
}

const within = (outer: Frame, inner: Frame): Frame => ({
  scaleX: outer.scaleX * inner.scaleX,
  scaleY: outer.scaleY * inner.scaleY,
  x: outer.x + outer.scaleX * inner.x,
  y: outer.y + outer.scaleY * inner.y,
})

interface DecodedText extends ShownText {
  /** In thousandths of the size of the font. */
  readonly width: number
}

function decoded(codes: string, font: PdfFont): DecodedText {
  let text = ''
  let unknown = 0
  let width = 0
  for (let at = 0; at < codes.length; at += font.bytes) {
    const code = font.bytes === 1 ? codes.charCodeAt(at) : codes.charCodeAt(at) * 256 + (codes.charCodeAt(at + 1) || 0)
    const found = font.character(code)
    if (found === undefined || found === '\ufffd') unknown++
    text += found ?? '\ufffd'
    width += font.width(code)
  }
  return { text, unknown, width }
}
