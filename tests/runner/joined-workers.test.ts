import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'bun:test'
import { joinWorkers, joinedWorker } from './joined-workers.ts'

const root = join(import.meta.dir, '../..')
const joined = await joinWorkers(root)
afterAll(() => joined.remove())

test('threads of gateways start from joined files with their bytecode, others from their sources', () => {
  for (const name of ['bodies/bodies-worker', 'ledger/ledger-worker', 'ledger/reads/ledger-read-worker']) {
    const file = joinedWorker(joined.folder, join(root, `src/store/${name}.ts`))!
    expect([file, existsSync(file), existsSync(`${file}.jsc`)]).toEqual([file, true, true])
  }
  expect(joinedWorker(joined.folder, join(root, 'src/lib/tokens/tokenizer-worker.ts'))).toBeUndefined()
})

test('a joined thread runs its program', async () => {
  const file = joinedWorker(joined.folder, join(root, 'src/store/ledger/reads/ledger-read-worker.ts'))!
  const worker = new Worker(Bun.pathToFileURL(file))
  const answer = new Promise<unknown>(resolve => (worker.onmessage = ({ data }) => resolve(data)))
  worker.postMessage({ kind: 'open', settings: { isIdle: false, databaseUrl: undefined, openedFile: undefined } })
  worker.postMessage({ kind: 'ask', id: 7, of: 'no-such-question', query: {} })
  expect(await answer).toMatchObject({ kind: 'failed', id: 7 })
  worker.terminate()
})
