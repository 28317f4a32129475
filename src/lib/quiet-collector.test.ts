import { expect, test } from 'bun:test'
import { join } from 'node:path'

test('memory of a burst is given back once it is over, and not while work is under way', async () => {
  const child = Bun.spawn([process.execPath, '-e', `
    const { QuietCollector } = await import(${JSON.stringify(join(import.meta.dir, 'quiet-collector.ts'))})
    let busy = true
    const collector = new QuietCollector(() => busy)
    const rss = () => Math.round(process.memoryUsage.rss() / 1048576)
    const before = rss()
    let burst = Array.from({ length: 100 }, () => new Uint8Array(1048576).fill(1))
    collector.touch()
    burst = undefined
    await Bun.sleep(2200)
    const whileBusy = rss()
    busy = false
    collector.touch()
    await Bun.sleep(2200)
    console.log(JSON.stringify({ before, whileBusy, after: rss() }))
    collector.stop()
  `])
  const { before, whileBusy, after } = JSON.parse(await new Response(child.stdout).text()) as Record<string, number>
  expect(whileBusy! - before!).toBeGreaterThan(60)
  expect(after! - before!).toBeLessThan(40)
}, 15_000)
