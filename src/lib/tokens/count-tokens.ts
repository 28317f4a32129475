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
/** Enough of a file to find the size behind its metadata. */
const headCharacters = 512 * 1024

/** `base64` = the picture itself. What cannot be measured, or is only named by its address, counts as a large one. */
export function imageTokens(base64: string | undefined): number {
  const size = base64 === undefined ? undefined : imageSize(Buffer.from(base64.slice(0, headCharacters), 'base64'))
  if (!size) return imageTokensMax
  const scale = Math.min(1, longEdgeMax / Math.max(size.width, size.height))
  return Math.max(1, Math.min(imageTokensMax, Math.ceil((size.width * size.height * scale * scale) / pixelsPerToken)))
}

/** 1,500 to 3,000 a page by the vendor (platform.claude.com/docs/en/build-with-claude/pdf-support). */
const tokensPerPage = 2250
/** Where the pages cannot be counted, because newer files compress their lists. */
const bytesPerPage = 100_000
const pageObject = /\/Type\s*\/Page(?![A-Za-z])/g

/** `base64` = a PDF; one named by its address counts as one page. */
export function pdfTokens(base64: string | undefined): number {
  if (base64 === undefined) return tokensPerPage
  const file = Buffer.from(base64, 'base64')
  const pages = file.toString('latin1').match(pageObject)?.length ?? Math.ceil(file.length / bytesPerPage)
  return Math.max(pages, 1) * tokensPerPage
}

/** Speech, a second, as base64 of the least usual rate; vendors count 10 to 32 tokens a second. */
const audioTokensPerSecond = 32
const audioCharactersPerSecond = 10_000
/** WAV, MP3 with and without its tag, Ogg, FLAC. */
const audioHead = /^(UklGR.{6}XQVZF|SUQz|\/\/[NOPuv]|T2dn|ZkxhQ)/

/** `base64` = sound. */
export function audioTokens(base64: string): number {
  return Math.ceil((base64.length / audioCharactersPerSecond) * audioTokensPerSecond)
}

/** `base64` = a file of a kind that only its beginning tells: a PDF, sound, or else a picture. */
export function fileTokens(base64: string): number {
  if (base64.startsWith('JVBERi')) return pdfTokens(base64)
  return audioHead.test(base64) ? audioTokens(base64) : imageTokens(base64)
}
