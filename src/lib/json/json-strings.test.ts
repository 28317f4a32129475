/** A large body is refused exactly when JSON.parse refuses it, and its shape is that of the whole. */
import { expect, test } from 'bun:test'
import { Random } from '../../../tests/property/random.ts'
import { JsonBody } from './json-body.ts'

const large = 'x'.repeat(300_000)
const refused = (bytes: Uint8Array): boolean => {
  try {
    JsonBody.read(bytes)
    return false
  } catch {
    return true
  }
}
const isJson = (bytes: Uint8Array): boolean => {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return true
  } catch {
    return false
  }
}

test('what JSON forbids is found wherever it stands in a large body, at every alignment', () => {
  const faults = ['\u0000', '\n', '\u001f', '\\x', '\\', '\\u12g4', '\\u12', '\\"\n']
  const allowed = ['\u007f', '\\n', '\\"', '\\\\', '\\/', '\\u12aF', '\u00e9', '\u2603', '\u{1f600}', '\u0080']
  for (let shift = 0; shift < 9; shift++)
    for (const piece of [...faults, ...allowed]) {
      const text = `{"a":"${large}${'y'.repeat(shift)}${piece}${'z'.repeat(shift % 4)}","b":1}`
      for (const bytes of [Buffer.from(text), Buffer.from(` ${text}`).subarray(1)])
        expect([shift, piece, refused(bytes)]).toEqual([shift, piece, !isJson(bytes)])
    }
  const cut = Buffer.concat([Buffer.from(`{"a":"${large}`), Buffer.from([0xe2, 0x98]), Buffer.from('"}')])
  expect(refused(cut)).toBe(true)
})

test('what JSON forbids is found behind characters of any language, in any order', () => {
  const random = new Random(11)
  const pieces = ['plain text, ', 'é', '☃', '\u{1f600}', '\\n', '\\u00e9', '\u001f', '\\x', '\u0080']
  for (let round = 0; round < 200; round++) {
    const piece = () => pieces[random.int(pieces.length - 1)]!.repeat(1 + random.int(9))
    const text = `{"a":"${large}${Array.from({ length: random.int(8) }, piece).join('')}${'z'.repeat(random.int(40))}"}`
    const bytes = Buffer.from(`${' '.repeat(random.int(3))}${text}`)
    const cut = random.chance(0.2) ? Buffer.concat([bytes.subarray(0, -3), bytes.subarray(-2)]) : bytes
    expect([round, refused(cut)]).toEqual([round, !isJson(cut)])
  }
})

test('around long strings a large body is read as strictly as a small one', () => {
  for (const rest of ['tru', '01', '1.', '[1,]', '{"x" 1}', "'x'", 'NaN', '"a" "b"', '{"x":1,}', '', '-'])
    for (const text of [`{"b":${rest},"a":"${large}"}`, `{"a":["${large}",${rest}]}`])
      expect([text.slice(0, 20), refused(Buffer.from(text))]).toEqual([text.slice(0, 20), true])
})

test('any byte changed at random: the same verdict as JSON.parse', () => {
  const random = new Random(7)
  const text = JSON.stringify({
    a: [{ b: `${'é☃"\\\n'.repeat(9000)}${large}` }, 1.5e3, null, true],
    c: { d: '\u{1f600}' },
  })
  const whole = Buffer.from(text)
  expect(refused(whole)).toBe(false)
  for (let round = 0; round < 300; round++) {
    const bytes = Buffer.from(whole)
    const at = random.int((random.chance(0.5) ? 400 : bytes.length) - 1)
    bytes[at] = random.int(255)
    // What the outline refuses beyond JSON (doubled fields and the like) cannot come of one byte here.
    expect([at, bytes[at], refused(bytes)]).toEqual([at, bytes[at], !isJson(bytes)])
  }
})

test('the shape of a large body is the whole, with long strings cut', () => {
  const body = JsonBody.read(
    Buffer.from(JSON.stringify({ a: [{ b: large, c: 'é'.repeat(10), d: `${'p'.repeat(10)}é${large}` }], n: 1 })),
  )
  for (let looks = 0; looks < 2; looks++)
    expect(body.shape()).toEqual({
      a: [{ b: 'x'.repeat(128).padEnd(4096, '.'), c: 'é'.repeat(10), d: `${'p'.repeat(10)}${'.'.repeat(4086)}` }],
      n: 1,
    })
  expect((body.parse().a as { b: string }[])[0]!.b.length).toBe(large.length)
})
