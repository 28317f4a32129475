import { ask } from '../../api/client.ts'
import type { Tag } from '../../api/schema.d.ts'

const pageSize = 100

/** All tags that are made, newest first: they are few, as each is made by hand. */
export async function readTags(signal: AbortSignal): Promise<Tag[]> {
  const tags: Tag[] = []
  for (let page = 1; ; page++) {
    const read = await ask('GET /tag/list', { query: { page, page_size: pageSize }, signal })
    tags.push(...read)
    if (read.length < pageSize) return tags
  }
}
