/** `prices` of the configuration: where a price list of the operator is, and how it is brought here. */
import { readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Values } from '../../core/setting-keys.ts'
import type { priceSourceKeys } from '../sections/prices.ts'
import { download, downloadDated } from './download.ts'
import { listBytesMax, OperatorList } from './operator-list.ts'
import type { ListPins } from './operator-list.ts'

/** `prices` of the configuration. */
export type PriceSettings = Values<typeof priceSourceKeys>

/** Whether a source is brought by HTTP; all others are files. */
export const isAddress = (source: string): boolean => /^https?:\/\//.test(source)

const pinsOf = ({ sha256, public_key: publicKey }: PriceSettings): ListPins => ({ sha256, publicKey })

/** The path of a file that is given relative to the configuration file. */
export function pathOfSource({ source }: PriceSettings, configFile: string | undefined): string {
  return configFile === undefined ? resolve(source) : resolve(dirname(configFile), source)
}

/** Reads a list from a file. Throws an error that says what is wrong. */
export function readListFile(settings: PriceSettings, configFile: string | undefined): OperatorList {
  const path = pathOfSource(settings, configFile)
  const bytes = (file: string): Buffer => {
    try {
      if (statSync(file).size > listBytesMax) throw new Error(`it has more than ${listBytesMax / 1024 / 1024} MB`)
      return readFileSync(file)
    } catch (error) {
      throw new Error(`${file} cannot be read: ${(error as Error).message}`)
    }
  }
  const signature = settings.public_key === undefined ? undefined : bytes(`${path}.sig`).toString('utf8')
  const list = OperatorList.read(bytes(path), settings.source, pinsOf(settings), signature)
  list.datedMs ??= statSync(path).mtimeMs
  return list
}

/** Brings a list from an address. Throws an error that says what is wrong. */
export async function fetchList(settings: PriceSettings): Promise<OperatorList> {
  const { bytes, modifiedMs } = await downloadDated(settings.source, listBytesMax)
  const signature =
    settings.public_key === undefined
      ? undefined
      : (await download(`${settings.source}.sig`, signatureBytesMax)).toString('utf8')
  const list = OperatorList.read(bytes, settings.source, pinsOf(settings), signature)
  list.datedMs ??= modifiedMs
  return list
}

const signatureBytesMax = 4096
