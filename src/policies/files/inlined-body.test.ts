/** Files in a body: the same as base64 in JSON at any length, and in memory of their own. */
import { expect, test } from 'bun:test'
import { newMark, withContents } from './inlined-body.ts'

const filled = (length: number): Uint8Array => Uint8Array.from({ length }, (_, at) => (at * 7919) >>> 3)

test('contents of every length stand where their marks stood, as often as they did', () => {
  const slice = 48 * 1024
  for (const length of [0, 1, 2, 3, 1000, slice - 1, slice, slice + 1, slice + 2, 3 * slice + 5]) {
    const [one, other] = [newMark(), newMark()]
    // A view into memory of others, too.
    const contents = new Map([
      [one, filled(length)],
      [other, filled(length + 9).subarray(7)],
    ])
    const marked = Buffer.from(JSON.stringify({ a: `data:x;base64,${other}`, b: [one, 'é', `${one}`], c: 5 }))
    const cut = marked.indexOf(one) + 10
    const body = withContents([marked.subarray(0, cut), marked.subarray(cut)], contents)
    const base64 = (mark: string) => Buffer.from(contents.get(mark)!).toString('base64')
    expect(Buffer.from(body).toString()).toBe(
      JSON.stringify({ a: `data:x;base64,${base64(other)}`, b: [base64(one), 'é', base64(one)], c: 5 }),
    )
  }
})
