/** Estimates of tokens, for models whose own tokeniser is out of reach. Good to some per cent for prose and code. */
import { estimateTokenCount } from 'tokenx'
import { imageSize } from './image-size.ts'

/** Looking at text costs up to 0.1 us a character: what comes after so much of it is taken to be alike. */
const measuredCharactersMax = 512 * 1024

/** Counts the texts of one request. */
export class TextCounter {
  #characters = 0
  #measured = 0
  #measuredTokens = 0
  readonly #measuredMax: number

  /** Less than the usual where the count is not worth the time. */
  constructor(measuredMax: number = measuredCharactersMax) {
    this.#measuredMax = measuredMax
  }

  add(text: string): void {
    this.#characters += text.length
    const room = this.#measuredMax - this.#measured
    if (room <= 0) return
    const piece = text.length > room ? text.slice(0, room) : text
    this.#measured += piece.length
    this.#measuredTokens += estimateTokenCount(piece)
  }

  get tokens(): number {
    if (this.#measured === this.#characters) return this.#measuredTokens
    return Math.ceil((this.#measuredTokens / this.#measured) * this.#characters)
  }
}

/**
 * A picture costs its area in pixels / 750 after scaling (platform.claude.com/docs/en/build-with-claude/vision);
 * other vendors' rules give the same order of size.
 */
const pixelsPerToken = 750
const longEdgeMax = 1568
const imageTokensMax = 1600
/** Nearly every picture says its size here. */
const headCharacters = 4096
/** That of a JPEG stands behind its metadata. */
const jpegHeadCharacters = 512 * 1024
const jpegStart = '/9j/'

/** Base64 as a string, or in bytes of which a string is only made where it is read. */
type Base64 = Pick<string, 'length' | 'slice'>

/** `base64` = the picture itself. What cannot be measured, or is only named by its address, counts as a large one. */
export function imageTokens(base64: Base64 | undefined): number {
  const size = base64 && sizeOf(base64)
  if (!size) return imageTokensMax
  const scale = Math.min(1, longEdgeMax / Math.max(size.width, size.height))
  return Math.max(1, Math.min(imageTokensMax, Math.ceil((size.width * size.height * scale * scale) / pixelsPerToken)))
}

function sizeOf(base64: Base64): ReturnType<typeof imageSize> {
  const head = base64.slice(0, headCharacters)
  const size = imageSize(Buffer.from(head, 'base64'))
  if (size || base64.length <= headCharacters || !head.startsWith(jpegStart)) return size
  return imageSize(Buffer.from(base64.slice(0, jpegHeadCharacters), 'base64'))
}

/** 1,500 to 3,000 a page by the vendor (platform.claude.com/docs/en/build-with-claude/pdf-support). */
const tokensPerPage = 2250
/** Where the pages cannot be counted, because newer files compress their lists. */
const bytesPerPage = 100_000
const pageObject = /^\/Type\s*\/Page(?![A-Za-z])/
const typeName = Buffer.from('/Type')
/** Longer white space stands in no page object. */
const pageObjectBytes = 32

/** `base64` = a PDF; one named by its address counts as one page. */
export function pdfTokens(base64: Base64 | undefined): number {
  if (base64 === undefined) return tokensPerPage
  const file = Buffer.from(base64.slice(0), 'base64')
  return Math.max(pagesIn(file) || Math.ceil(file.length / bytesPerPage), 1) * tokensPerPage
}

function pagesIn(file: Buffer): number {
  let pages = 0
  for (let at = file.indexOf(typeName); at >= 0; at = file.indexOf(typeName, at + typeName.length))
    if (pageObject.test(file.toString('latin1', at, at + pageObjectBytes))) pages++
  return pages
}

/** Speech, a second, as base64 of the least usual rate; vendors count 10 to 32 tokens a second. */
const audioTokensPerSecond = 32
const audioCharactersPerSecond = 10_000
/** WAV, MP3 with and without its tag, Ogg, FLAC. */
const audioHead = /^(UklGR.{6}XQVZF|SUQz|\/\/[NOPuv]|T2dn|ZkxhQ)/

/** `base64` = sound. */
export function audioTokens(base64: Base64): number {
  return Math.ceil((base64.length / audioCharactersPerSecond) * audioTokensPerSecond)
}

/** `base64` = a file of a kind that only its beginning shows: a PDF, sound, or else a picture. */
export function fileTokens(base64: Base64): number {
  const start = base64.slice(0, 16)
  if (start.startsWith('JVBERi')) return pdfTokens(base64)
  return audioHead.test(start) ? audioTokens(base64) : imageTokens(base64)
}
