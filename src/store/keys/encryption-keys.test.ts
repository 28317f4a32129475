import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EncryptionKeys, MissingEncryptionKey } from './encryption-keys.ts'

const oldKey = 'an older key of more than 32 characters'
const newKey = 'a newer key of more than 32 characters'

function inDirectory(work: (dataDirectory: string) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'modelgate-encryption-'))
  try {
    work(directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

test('without a configured key one is made on first use, in a file for the user of the gateway alone', () => {
  inDirectory(dataDirectory => {
    const keys = new EncryptionKeys({ environment: {}, dataDirectory, isShared: false })
    expect(keys.ring).toBeUndefined()
    const sealed = keys.ringToEncrypt().seal('sk-secret', 'a')
    const path = join(dataDirectory, 'encryption-key')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readFileSync(path, 'utf8').trim().length).toBe(44)
    const afterRestart = new EncryptionKeys({ environment: {}, dataDirectory, isShared: false })
    expect(afterRestart.ring!.open(sealed, 'a').toString()).toBe('sk-secret')
    expect(afterRestart.ringToEncrypt().currentId).toBe(keys.ring!.currentId)
  })
})

test('a key that another process adds to the file encrypts from then on, those before it still decrypt', () => {
  inDirectory(dataDirectory => {
    const open = () => new EncryptionKeys({ environment: {}, dataDirectory, isShared: false })
    const running = open()
    const sealed = running.ringToEncrypt().seal('x', 'a')
    const added = open().addKey()
    const anew = added.seal('y', 'a')
    expect(running.open(anew, 'a').toString()).toBe('y')
    expect(running.open(sealed, 'a').toString()).toBe('x')
    expect(running.ringToEncrypt().currentId).toBe(added.currentId)
    expect(statSync(join(dataDirectory, 'encryption-key')).mode & 0o777).toBe(0o600)
    expect(() => open().open('v1:00000000:AAAA', 'a')).toThrow('not configured here')
    const given = new EncryptionKeys({ environment: { LITELLM_SALT_KEY: oldKey }, dataDirectory, isShared: false })
    expect(() => given.addKey()).toThrow('MODELGATE_DECRYPTION_KEYS')
    expect(() => given.open(sealed, 'a')).toThrow('not configured here')
  })
})

test('where the database is shared, no key is made that other replicas would lack', () => {
  inDirectory(dataDirectory => {
    const keys = new EncryptionKeys({ environment: {}, dataDirectory, isShared: true })
    expect(() => keys.ringToEncrypt()).toThrow(MissingEncryptionKey)
    expect(() => keys.ringToEncrypt()).toThrow('MODELGATE_ENCRYPTION_KEY')
  })
})

test("LiteLLM's salt key is taken, the own name wins, and decryption keys only decrypt", () => {
  inDirectory(dataDirectory => {
    const open = (environment: Record<string, string>) =>
      new EncryptionKeys({ environment, dataDirectory, isShared: true }).ringToEncrypt()
    const before = open({ LITELLM_SALT_KEY: oldKey })
    const during = open({
      MODELGATE_ENCRYPTION_KEY: newKey,
      LITELLM_SALT_KEY: 'not read: the other name wins and wins',
      MODELGATE_DECRYPTION_KEYS: ` ${oldKey} ,`,
    })
    expect(during.open(before.seal('x', 'a'), 'a').toString()).toBe('x')
    expect(open({ MODELGATE_ENCRYPTION_KEY: newKey }).currentId).toBe(during.currentId)
    expect(() => open({ MODELGATE_ENCRYPTION_KEY: 'short' })).toThrow('32 characters')
  })
})
