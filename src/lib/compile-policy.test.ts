import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { gatewaySettings } from '../../bin/bun.mjs'

/** `runs` = how often a function has run when it is optimized, what the compiler takes included; null = it is not. */
const script = (begin: string) => `
  import { numberOfDFGCompiles } from 'bun:jsc'
  import { compileAsUsual, compileForServing } from ${JSON.stringify(join(import.meta.dir, 'compile-policy.ts'))}
  const sum = new Function('to', 'let sum = 0; for (let at = 0; at < to; at++) sum += at % 7; return sum')
  const runs = async most => {
    for (let run = 0; run < most; run += 10) {
      if (numberOfDFGCompiles(sum) > 0) return run
      for (let call = 0; call < 10; call++) sum(1)
      await Bun.sleep(10)
    }
    return null
  }
  ${begin}`

async function answerOf(begin: string): Promise<unknown> {
  const env = { ...process.env, ...gatewaySettings }
  const child = Bun.spawn([process.execPath, '-e', script(begin)], { env, stdout: 'pipe' })
  return JSON.parse(await new Response(child.stdout).text())
}

test('while a gateway starts, what runs some hundred times is not optimized; as it serves, what runs more often is', async () => {
  const found = await answerOf(
    'const starting = await runs(300); compileForServing(); console.log(JSON.stringify([starting, await runs(100_000)]))',
  )
  expect(found).toEqual([null, expect.any(Number)])
})

test('a thread that ends soon has its functions optimized as soon as elsewhere', async () => {
  expect(await answerOf('compileAsUsual(); console.log(JSON.stringify(await runs(600)))')).toEqual(expect.any(Number))
})
