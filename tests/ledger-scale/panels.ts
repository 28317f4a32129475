/** Pages of the log that are followed live, as browsers do it: `panels.ts URL KEY COUNT`. Ends when it is stopped. */
import { argv } from 'node:process'

const [url, key, count] = argv.slice(2)
/** As `web/pages/logs.tsx` asks. */
const everyMs = 3000
const limit = 200

async function follow(): Promise<never> {
  // Browsers were not opened at the same moment.
  await Bun.sleep(Math.random() * everyMs)
  for (;;) {
    const from = new Date(Date.now() - 86_400_000).toISOString()
    const response = await fetch(`${url}/spend/logs?limit=${limit}&start_date=${from}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    if (response.status !== 200) throw new Error(`a page of the log: ${response.status} ${await response.text()}`)
    await response.json()
    await Bun.sleep(everyMs)
  }
}

await Promise.all(Array.from({ length: Number(count) }, follow))
