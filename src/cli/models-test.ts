import type { Command } from './command.ts'
import { print, printError, table } from './command.ts'
import { configFlag, jsonFlag } from './options.ts'
import { testCalls } from './test-calls.ts'

/** Exit code 1 where a call has failed, or nothing was called. */
export const modelsTest: Command = {
  name: 'models test',
  summary: 'Call each model of a configuration once, for a few tokens: do keys, names and addresses work?',
  arguments: 'MODEL',
  flags: { config: configFlag, json: jsonFlag },
  async run(input) {
    const [named] = input.positionals
    const all = await testCalls(input, named)
    if (all.length === 0)
      throw new Error(
        named === undefined
          ? 'the configuration lists no model, and the environment has no key of a vendor; set one, or name a file ' +
              'with --config'
          : `no model is called '${named}'; modelgate models list shows them`,
      )
    if (input.flags.json) print(JSON.stringify(all, null, 2))
    else
      print(
        table(
          ['MODEL', 'UPSTREAM', 'RESULT', 'MS', 'SOURCE'],
          all.map(one => [one.model, one.upstream, one.state, String(one.tookMs), one.source]),
        ),
      )
    if (!input.flags.json)
      for (const one of all) if (one.state !== 'ok') printError(`${one.model} (${one.upstream}): ${one.message}`)
    return all.some(one => one.state === 'failed') || all.every(one => one.state === 'skipped') ? 1 : 0
  },
}
