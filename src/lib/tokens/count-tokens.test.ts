import { expect, test } from 'bun:test'
import { imageTokens, pdfTokens } from './count-tokens.ts'
import { imageSize } from './image-size.ts'

const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex')
/** Only the heads: what follows says nothing about the size. */
const heads = {
  png: bytes('89504e470d0a1a0a 0000000d 49484452 000003e8 000001f4 0806000000'),
  gif: bytes('474946383961 e803 f401 f70000'),
  lossy: bytes('52494646 00000000 57454250 56503820 00000000 000000 9d012a e803 f401 0000'),
  lossless: bytes('52494646 00000000 57454250 5650384c 00000000 2f e7c37c00 000000000000'),
  extended: bytes('52494646 00000000 57454250 56503858 0a000000 00000000 e70300 f30100'),
  // An EXIF segment, a table, and then the frame.
  jpeg: bytes('ffd8 ffe1 0006 45786966 ffc4 0003 00 ff ffc0 0011 08 01f4 03e8 03 012200'),
}

test('sizes of pictures', () => {
  for (const [kind, head] of Object.entries(heads))
    expect([kind, imageSize(head)]).toEqual([kind, { width: 1000, height: 500 }])
})

test('files that are cut, empty or something else have no size, and nothing is read past their end', () => {
  for (const head of Object.values(heads))
    for (let length = 0; length < head.length; length++) {
      const size = imageSize(head.subarray(0, length))
      expect(size === undefined || (size.width === 1000 && size.height === 500)).toBe(true)
    }
  expect(imageSize(Buffer.from('%PDF-1.7'))).toBeUndefined()
  expect(imageSize(bytes('89504e470d0a1a0a 0000000d 49484452 00000000 000001f4'))).toBeUndefined()
  // Segments that lead nowhere end.
  expect(imageSize(Buffer.concat([bytes('ffd8'), Buffer.alloc(100_000, 0xff)]))).toBeUndefined()
})

test('the size of a photograph stands behind its metadata', () => {
  const segment = Buffer.concat([bytes('ffe1 ffff'), Buffer.alloc(0xffff - 2)])
  const photograph = Buffer.concat([heads.jpeg.subarray(0, 2), segment, heads.jpeg.subarray(2), Buffer.alloc(200_000)])
  expect(imageTokens(photograph.toString('base64'))).toBe(Math.ceil((1000 * 500) / 750))
})

test('pictures by their area', () => {
  const png = (width: number, height: number) => {
    const head = Buffer.from(heads.png)
    head.writeUInt32BE(width, 16)
    head.writeUInt32BE(height, 20)
    return head.toString('base64')
  }
  // The vendor's own examples: 200x200, 1000x1000, 1092x1092.
  expect([imageTokens(png(200, 200)), imageTokens(png(1000, 1000)), imageTokens(png(1092, 1092))]).toEqual([
    54, 1334, 1590,
  ])
  expect([
    imageTokens(png(1, 1)),
    imageTokens(png(8000, 100)),
    imageTokens(png(8000, 8000)),
    imageTokens(undefined),
    imageTokens('????'),
  ]).toEqual([1, 41, 1600, 1600, 1600])
})

test('pages of a PDF', () => {
  const pdf = Buffer.from('%PDF-1.4 /Type /Pages /Kids [] /Type /Page /x /Type/Page>>').toString('base64')
  expect([pdfTokens(pdf), pdfTokens(undefined), pdfTokens(Buffer.alloc(250_000).toString('base64'))]).toEqual([
    4500, 2250, 6750,
  ])
})
