import { randomUUID } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { OperatorList, listBytesMax } from '../config/prices/operator-list.ts'
import { download } from '../config/prices/download.ts'
import { isAddress, pathOfSource } from '../config/prices/price-source.ts'
import type { Command, Flag } from './command.ts'
import { print } from './command.ts'
import { configFile, configFlag, jsonFlag } from './options.ts'
import { publicList } from './price-lists.ts'
import { pricesOfConfiguration } from './price-settings.ts'
import { differencesOf } from './prices-diff.ts'

const flags: Readonly<Record<string, Flag>> = {
  from: { type: 'string', value: 'FILE|URL', help: `A list in LiteLLM's shape (default ${publicList})` },
  to: { type: 'string', value: 'FILE', help: 'Where to write it (default: the file of `prices`, else prices.json)' },
  sha256: { type: 'string', value: 'HASH', help: 'Refuse a list with another hash' },
  config: configFlag,
  json: jsonFlag,
}

/** A gateway whose configuration names the file reads it within seconds. A wrong list leaves the old file. */
export const pricesUpdate: Command = {
  name: 'prices update',
  summary: 'Bring a price list into a file, from where `prices` of the configuration reads it',
  flags,
  async run({ flags: given, environment }) {
    const file = configFile(given, environment)
    const configured = await pricesOfConfiguration(file, environment)
    const from = text(given.from) ?? publicList
    const to = text(given.to)
    const isFile = configured !== undefined && !isAddress(configured.source)
    const target = to === undefined ? (isFile ? pathOfSource(configured, file) : resolve('prices.json')) : resolve(to)
    const bytes = await bytesAt(from)
    const publicKey = configured?.public_key
    const signature = publicKey === undefined ? undefined : await bytesAt(`${from}.sig`)
    const list = OperatorList.read(bytes, from, { sha256: text(given.sha256), publicKey }, signature?.toString('utf8'))
    if (signature) write(`${target}.sig`, signature)
    write(target, bytes)
    const differences = new Set(differencesOf(list).map(one => one.model)).size
    const result = { file: target, sha256: list.sha256, models: list.priced, differences }
    print(given.json ? JSON.stringify(result, null, 2) : resultText(result, configured !== undefined))
    return 0
  },
}

const bytesAt = async (from: string): Promise<Buffer> =>
  isAddress(from) ? await download(from, listBytesMax) : readFileSync(from)

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** In one step: a gateway that reads the file sees the old one or the new one. */
function write(target: string, bytes: Buffer): void {
  const temporary = `${target}.${randomUUID()}.tmp`
  try {
    writeFileSync(temporary, bytes)
    renameSync(temporary, target)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

function resultText(
  { file, sha256, models, differences }: { file: string; sha256: string; models: number; differences: number },
  isConfigured: boolean,
): string {
  const use = isConfigured
    ? ''
    : `\nTo use it, write into the configuration:\nprices:\n  source: ${file}\n  sha256: ${sha256}`
  return (
    `${file}: ${models} models with a price, SHA-256 ${sha256}\n` +
    `${differences} models have another price than in the built-in list (modelgate prices diff ${file})${use}`
  )
}
