import { expect, test } from 'bun:test'
import { join } from 'node:path'

test('memory of a burst is given back once it is over, and not while work is under way', async () => {
  const child = Bun.spawn([
    process.execPath,
    '-e',
    `
    const { QuietCollector } = await import(${JSON.stringify(join(import.meta.dir, 'quiet-collector.ts'))})
    let busy = true
    const collector = new QuietCollector({ isBusy: () => busy, isSettling: () => false })
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
  `,
  ])
  const { before, whileBusy, after } = JSON.parse(await new Response(child.stdout).text()) as Record<string, number>
  expect(whileBusy! - before!).toBeGreaterThan(60)
  expect(after! - before!).toBeLessThan(40)
}, 15_000)

test.skipIf(process.platform !== 'linux')(
  'what starting needed is given back, and after a burst again, once nothing is left to be done',
  async () => {
    const child = Bun.spawn([
      process.execPath,
      '-e',
      `
    const { QuietCollector } = await import(${JSON.stringify(join(import.meta.dir, 'quiet-collector.ts'))})
    const { readFileSync } = await import('node:fs')
    const fileKb = () => Number(/RssFile:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1])
    let settling = false
    const collector = new QuietCollector({ isBusy: () => false, isSettling: () => settling })
    const figures = { started: fileKb() }
    await Bun.sleep(3000)
    figures.quiet = fileKb()
    const { Database } = await import('bun:sqlite')
    const burst = calls => {
      for (let call = 0; call < calls; call++) collector.touch()
      new Database(':memory:').query('select sum(value) from json_each(?)').get(JSON.stringify([1, 2, 3]))
      new Intl.DateTimeFormat('ja-JP', { dateStyle: 'full' }).format(new Date())
      Bun.gzipSync(new Uint8Array(1e6))
    }
    burst(5)
    figures.fewCalls = fileKb()
    await Bun.sleep(3000)
    figures.afterFew = fileKb()
    settling = true
    burst(5000)
    figures.manyCalls = fileKb()
    await Bun.sleep(3000)
    figures.settling = fileKb()
    settling = false
    await Bun.sleep(2500)
    figures.settled = fileKb()
    burst(5)
    const working = setInterval(() => collector.touch(), 100)
    await Bun.sleep(4000)
    clearInterval(working)
    figures.longWork = fileKb()
    await Bun.sleep(3500)
    figures.afterLongWork = fileKb()
    console.log(JSON.stringify(figures))
    collector.stop()
  `,
    ])
    const kb = JSON.parse(await new Response(child.stdout).text()) as Record<string, number>
    expect(kb.quiet).toBeLessThan(kb.started! - 4096)
    // A few calls are no burst: what they brought back stays, and the next ones find it.
    expect(kb.afterFew).toBeGreaterThan(kb.fewCalls! - 1024)
    expect(kb.settling).toBeGreaterThan(kb.manyCalls! - 1024)
    expect(kb.settled).toBeLessThan(kb.manyCalls! - 2048)
    // Few calls that take long, streams for one, bring as much back as many short ones.
    expect(kb.afterLongWork).toBeLessThan(kb.longWork! - 2048)
  },
  30_000,
)
