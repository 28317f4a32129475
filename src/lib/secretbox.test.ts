import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { openSecretbox } from './secretbox.ts'

/** Sealed by PyNaCl 1.6.2 (libsodium) under the SHA-256 of `sk-salt`, with the nonce 0, 1, ... 23. */
const boxes: readonly (readonly [text: string, box: string])[] = [
  ['', 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXwiP0LMWS5kbevYnVtDqtLg=='],
  ['a', 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXgSbtnQ8ZBeCdUU8R9vqsHyo='],
  ['x'.repeat(16), 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXTl71Kr77W0XAvXWBx9NH6zO/UadI9mdTXhqn8USpxD8='],
  [
    'Grüße, '.repeat(20),
    'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXvp4eNA3K9JQZEYN1wfKqKgy16mPzEXoHBiWtSoASIyLgTLhHZMIKu+rNoC4g5TMfKJjFTk30EAnB8OWB' +
      'YK3Ri/qTQ9hqb+TfdV+iaV5UzQa17DXUENnmMONzUGn7RkuCHvAeOZuLqsWyHMV+rt2Pgp4LvzqVA0EWs+bFvJ9sr1cbBt/Fvmyw4cPML0zmEVJT' +
      'vhsc3pIPP8wIYW3ZV+kpHbjklnpEd2MPbt037VJFiZBfqfi3mp4ofgxh+MpCreABa9rPLQ==',
  ],
]
const key = createHash('sha256').update('sk-salt').digest()

test('what libsodium has sealed is opened, of every length of a block', () => {
  expect(boxes.map(([, box]) => openSecretbox(Buffer.from(box, 'base64'), key)?.toString())).toEqual(
    boxes.map(([text]) => text),
  )
})

test('a box of another key, a changed or a cut one is not opened', () => {
  const box = Buffer.from(boxes[2]![1], 'base64')
  expect(openSecretbox(box, createHash('sha256').update('other').digest())).toBeUndefined()
  for (const at of [0, 24, box.length - 1]) {
    const changed = Buffer.from(box)
    changed[at]! ^= 1
    expect(openSecretbox(changed, key)).toBeUndefined()
  }
  expect(openSecretbox(box.subarray(0, 39), key)).toBeUndefined()
})
