/**
 * `npm run demo -- --port 4000 --directory PATH --seed 1`: a gateway with a believable organisation, on simulated
 * models. Everything is made up. Without `--directory` it is in a temporary folder, which goes with Ctrl-C.
 */
import { parseArgs } from 'node:util'
import { startDemo } from './demo/start.ts'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '4000' },
    directory: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
})
const [port, seed] = [Number(values.port), Number(values.seed)]
if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error('--port must be a number from 0 to 65535')
if (!Number.isSafeInteger(seed)) throw new Error('--seed must be a whole number')

const signalled = new Promise<void>(resolve => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve())
})
const demo = await startDemo({ port, seed, directory: values.directory })
console.log(`The demo serves ${demo.url}/ui/

  administrator   ada     ${demo.password}
  viewer          vera    the same password, as for all users
  org admin       olaf
  team admin      tessa
  member          milo
  operator        leave the name empty, password ${demo.masterKey}

  a key           ${demo.keys['helpdesk-bot']}
  data            ${demo.directory}${values.directory === undefined ? ' (removed at the end)' : ''}

Everything in it is made up, and the models are simulated. Ctrl-C ends it.`)
await signalled
await demo.stop()
process.exit(0)
