import { expect, test } from 'bun:test'
import { createDecipheriv, createHmac, hkdfSync } from 'node:crypto'
import { DecryptionError, KeyRing, keyIdOf } from './encryption.ts'
import { Secret } from './secret.ts'

const first = new Secret('first secret of at least 32 characters')
const second = new Secret('second secret of at least 32 characters')

test('a text comes back, with every character, and an empty one', () => {
  const ring = new KeyRing([first])
  for (const text of ['sk-secret', '', 'ünïcödé 🔑\0\n', 'x'.repeat(100_000)])
    expect(ring.open(ring.seal(text, 'models:1'), 'models:1').toString()).toBe(text)
  const bytes = new Uint8Array([0, 255, 128])
  expect([...ring.open(ring.seal(bytes, 'a'), 'a')]).toEqual([...bytes])
})

test('the same text is never sealed twice alike, and is not visible in what is stored', () => {
  const ring = new KeyRing([first])
  const sealed = Array.from({ length: 100 }, () => ring.seal('sk-planted', 'a'))
  expect(new Set(sealed).size).toBe(100)
  for (const one of sealed) {
    expect(one).not.toContain('sk-planted')
    expect(Buffer.from(one.split(':')[2]!, 'base64url').includes('sk-planted')).toBe(false)
  }
})

test('a text that was moved to another row or changed in any byte is refused', () => {
  const ring = new KeyRing([first])
  const sealed = ring.seal('sk-secret', 'credentials:a')
  expect(() => ring.open(sealed, 'credentials:b')).toThrow(DecryptionError)
  const [version, id, content] = sealed.split(':') as [string, string, string]
  const bytes = Buffer.from(content, 'base64url')
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed[at]! ^= 1
    expect(() => ring.open([version, id, changed.toString('base64url')].join(':'), 'credentials:a')).toThrow(
      'cannot be decrypted',
    )
  }
  for (const length of [0, 1, 16, 28, 43])
    expect(() =>
      ring.open([version, id, bytes.subarray(0, length).toString('base64url')].join(':'), 'credentials:a'),
    ).toThrow(DecryptionError)
  expect(() => ring.open('sk-plain', 'credentials:a')).toThrow('no encrypted text')
})

test('several keys decrypt, the first encrypts, and a foreign one is named by its id', () => {
  const before = new KeyRing([first])
  const both = new KeyRing([second, first])
  const after = new KeyRing([second])
  const old = before.seal('sk-secret', 'a')
  expect(both.open(old, 'a').toString()).toBe('sk-secret')
  const anew = both.seal('sk-secret', 'a')
  expect(keyIdOf(old)).toBe(before.currentId)
  expect(keyIdOf(anew)).toBe(after.currentId)
  expect(both.ids).toEqual([after.currentId, before.currentId])
  expect(after.open(anew, 'a').toString()).toBe('sk-secret')
  expect(() => after.open(old, 'a')).toThrow(`the key ${before.currentId}, which is not configured here`)
  expect(keyIdOf('sk-plain')).toBeUndefined()
})

test('what is stored is AES-256-GCM as another implementation reads it', () => {
  const sealed = new KeyRing([first]).seal('sk-secret', 'models:7')
  const [, id, content] = sealed.split(':') as [string, string, string]
  const bytes = Buffer.from(content, 'base64url')
  const key = Buffer.from(hkdfSync('sha256', first.reveal(), '', 'modelgate encryption at rest: key', 32))
  const own = createHmac('sha256', key).update(bytes.subarray(0, 16)).digest()
  const decipher = createDecipheriv('aes-256-gcm', own, bytes.subarray(16, 28))
  decipher.setAAD(Buffer.from(`v1:${id}:models:7`))
  decipher.setAuthTag(bytes.subarray(-16))
  expect(decipher.update(bytes.subarray(28, -16)).toString() + decipher.final().toString()).toBe('sk-secret')
})

test('a short secret and a ring without keys are refused', () => {
  expect(() => new KeyRing([new Secret('short')])).toThrow('openssl rand -base64 32')
  expect(() => new KeyRing([])).toThrow('at least one key')
})
