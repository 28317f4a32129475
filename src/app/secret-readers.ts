/** Readers of secrets that are kept elsewhere: files, Vault over HTTP, commands. */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { SecretReaders } from '../config/secret-sources.ts'
import type { Transport } from '../core/transport.ts'
import { createHttp1Transport } from '../http/client/client.ts'
import { systemClock as clock } from '../lib/clock.ts'

type Environment = Readonly<Record<string, string | undefined>>

const secretBytesMax = 65_536
const answerBytesMax = 1024 * 1024
const timeouts = { connectMs: 3000, firstByteMs: 4000, idleMs: 4000, totalMs: 4500 }
/** A little less than a reference may take, so that the command is ended by then. */
const commandMs = 4500

/** `close` ends the connections to Vault. */
export function createSecretReaders(environment: Environment): SecretReaders & { close(): void } {
  let transport: Transport | undefined
  return {
    file: path => readFile(resolve('/', path)),
    vault(rest) {
      transport ??= createHttp1Transport({ clock, unsolicited: () => {} })
      return readVault(rest, environment, transport)
    },
    command: runCommand,
    close: () => transport?.close(),
  }
}

/** Opened without blocking: a pipe that has no writer would hold a thread for ever. */
async function readFile(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${path} cannot be read: ${error.code ?? error.message}`)
  })
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw new Error(`${path} is no file`)
    if (stat.size > secretBytesMax) throw new Error(`${path} is larger than ${secretBytesMax} bytes`)
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

const first = (environment: Environment, ...names: readonly string[]) =>
  names.map(name => environment[name]).find(value => value !== undefined && value !== '')

/**
 * `MOUNT/PATH#FIELD` of a KV engine of version 2 (developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2, read
 * 2026-11-23): GET /v1/MOUNT/data/PATH answers `{data: {data: {FIELD: ...}}}`. Address and token are those of Vault's
 * own client, or under LiteLLM's names.
 */
async function readVault(rest: string, environment: Environment, transport: Transport): Promise<string> {
  const [, mount, path, field] = /^([^/#]+)\/([^#]+)#(.+)$/.exec(rest) ?? []
  if (mount === undefined || path === undefined || field === undefined)
    throw new Error('write vault/MOUNT/PATH#FIELD, as vault/secret/openai#api_key')
  const address = first(environment, 'VAULT_ADDR', 'HCP_VAULT_ADDR')
  if (address === undefined || !URL.canParse(address)) throw new Error('set VAULT_ADDR to the address of Vault')
  const tokenFile = first(environment, 'VAULT_TOKEN_FILE')
  const token =
    tokenFile === undefined ? first(environment, 'VAULT_TOKEN', 'HCP_VAULT_TOKEN') : (await readFile(tokenFile)).trim()
  if (!token) throw new Error('set VAULT_TOKEN, or VAULT_TOKEN_FILE')
  const namespace = first(environment, 'VAULT_NAMESPACE', 'HCP_VAULT_NAMESPACE')
  const steps = path.split('/').map(encodeURIComponent).join('/')
  const exchange = transport.send({
    method: 'GET',
    head: {
      url: `${address.replace(/\/+$/, '')}/v1/${encodeURIComponent(mount)}/data/${steps}`,
      headers: {
        'x-vault-token': token,
        'x-vault-request': 'true',
        ...(namespace !== undefined && { 'x-vault-namespace': namespace }),
      },
    },
    body: [],
    timeouts,
  })
  const response = await exchange.response
  const bytes = await response.body.bytes(answerBytesMax)
  if (response.status !== 200) throw new Error(`Vault answered with status ${response.status}`)
  const value = valueIn(bytes, field)
  if (value === undefined) throw new Error(`Vault has no text \`${field}\` there`)
  return value
}

function valueIn(bytes: Uint8Array, field: string): string | undefined {
  try {
    const { data } = JSON.parse(Buffer.from(bytes).toString()) as { data?: { data?: Record<string, unknown> } }
    const fields = data?.data ?? {}
    const value = Object.hasOwn(fields, field) ? fields[field] : undefined
    return typeof value === 'string' ? value : undefined
  } catch {
    throw new Error('Vault answered with something that is no JSON')
  }
}

/** Words are divided by blanks; there is no shell. What the command writes to its standard output is the secret. */
async function runCommand(text: string): Promise<string> {
  const words = text.split(/\s+/).filter(word => word !== '')
  const child = Bun.spawn(words, { stdin: 'ignore', stdout: 'pipe', stderr: 'ignore', timeout: commandMs })
  const written = await new Response(child.stdout).text()
  const status = await child.exited
  if (status !== 0)
    throw new Error(
      child.signalCode ? `the command was ended: ${child.signalCode}` : `the command ended with ${status}`,
    )
  return written
}
