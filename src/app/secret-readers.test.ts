import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSecretReaders } from './secret-readers.ts'

const folder = mkdtempSync(join(tmpdir(), 'modelgate-secrets-'))
const asked: { path: string; token: string | null; namespace: string | null }[] = []
/** Answers as Vault's KV engine of version 2 does. */
const vault = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request) {
    const path = new URL(request.url).pathname
    const { headers } = request
    asked.push({ path, token: headers.get('x-vault-token'), namespace: headers.get('x-vault-namespace') })
    if (headers.get('x-vault-token') !== 'hvs.good') return Response.json({ errors: ['denied'] }, { status: 403 })
    if (path !== '/v1/secret/data/team/openai') return Response.json({ errors: [] }, { status: 404 })
    return Response.json({ data: { data: { api_key: 'sk-of-vault', number: 5 }, metadata: { version: 3 } } })
  },
})
afterAll(async () => {
  await vault.stop(true)
  rmSync(folder, { recursive: true })
})

const environment = { VAULT_ADDR: vault.url.href, VAULT_TOKEN: 'hvs.good', VAULT_NAMESPACE: 'team-a' }

test("Vault is asked as its own client does, for one field of a secret's newest version", async () => {
  const { vault: read, close } = createSecretReaders(environment)
  expect(await read('secret/team/openai#api_key')).toBe('sk-of-vault')
  expect(asked.at(-1)).toEqual({ path: '/v1/secret/data/team/openai', token: 'hvs.good', namespace: 'team-a' })
  for (const [rest, reason] of [
    ['secret/team/openai#number', 'has no text `number`'],
    ['secret/team/openai#toString', 'has no text `toString`'],
    ['secret/team/none#x', 'status 404'],
    ['secret/team/openai', 'write vault/MOUNT/PATH#FIELD'],
  ])
    await expect(read(rest!)).rejects.toThrow(reason!)
  close()
})

test('the token may stand in a file, which is read each time, and what is missing is named', async () => {
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, 'hvs.bad\n')
  const { vault: read, close } = createSecretReaders({ VAULT_ADDR: vault.url.href, VAULT_TOKEN_FILE: tokenFile })
  await expect(read('secret/team/openai#api_key')).rejects.toThrow('status 403')
  writeFileSync(tokenFile, 'hvs.good\n')
  expect(await read('secret/team/openai#api_key')).toBe('sk-of-vault')
  close()
  await expect(createSecretReaders({}).vault('a/b#c')).rejects.toThrow('set VAULT_ADDR')
  await expect(createSecretReaders({ VAULT_ADDR: vault.url.href }).vault('a/b#c')).rejects.toThrow('set VAULT_TOKEN')
})

test('a file is read whole; directories, missing and large files are errors', async () => {
  const { file } = createSecretReaders({})
  writeFileSync(join(folder, 'key'), 'sk-of-file\n')
  writeFileSync(join(folder, 'large'), 'x'.repeat(70_000))
  expect(await file(join(folder, 'key').slice(1))).toBe('sk-of-file\n')
  expect(await file(join(folder, 'key'))).toBe('sk-of-file\n')
  await expect(file(folder)).rejects.toThrow('is no file')
  await expect(file(join(folder, 'none'))).rejects.toThrow('ENOENT')
  await expect(file(join(folder, 'large'))).rejects.toThrow('larger than')
})

test('a command is run without a shell; its failure is reported without what it wrote', async () => {
  const { command } = createSecretReaders({})
  expect(await command('echo sk-of-command')).toBe('sk-of-command\n')
  expect(await command('echo $HOME;id')).toBe('$HOME;id\n')
  await expect(command('cat /nowhere')).rejects.toThrow('ended with 1')
  await expect(command('no-such-program-here x')).rejects.toThrow()
})
