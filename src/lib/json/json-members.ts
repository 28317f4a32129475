/** Members removed from JSON text, or renamed in it, by their paths; all other characters stay as they were. */

const space = /\s*/y

/** `name` = undefined for a removed member. */
interface Replacement {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** The text without the members, and the paths at which some were. */
interface EditedMembers {
  readonly json: string
  /** Those removed, and those renamed to a name that their object had already. */
  readonly removed: ReadonlySet<string>
}

/**
 * `paths` leave lists out: `content.cache_control` is that member of each object in the list `content` of each object
 * in the list that `json` is. A path with a name is renamed to it. `json` must be valid. undefined = there is no such
 * member.
 */
export function editMembers(json: string, paths: ReadonlyMap<string, string | undefined>): EditedMembers | undefined {
  const search = new MemberSearch(json, paths)
  search.value(0, '')
  if (search.cuts.length === 0) return undefined
  search.cuts.sort((a, b) => a.from - b.from)
  let out = ''
  let at = 0
  for (const { from, to, text } of search.cuts) {
    if (from > at) out += json.slice(at, from)
    out += text
    at = Math.max(at, to)
  }
  return { json: out + json.slice(at), removed: search.removed }
}

interface Member {
  readonly key: string
  readonly keyFrom: number
  readonly keyTo: number
  readonly valueTo: number
}

/** One pass. It goes into objects on the way to a path alone, so its depth is that of the paths. */
class MemberSearch {
  readonly cuts: Replacement[] = []
  readonly removed = new Set<string>()
  readonly #json: string
  readonly #paths: ReadonlyMap<string, string | undefined>
  /** The beginnings of the paths, that without a part too. */
  readonly #ways: ReadonlySet<string>

  constructor(json: string, paths: ReadonlyMap<string, string | undefined>) {
    this.#json = json
    this.#paths = paths
    this.#ways = new Set(
      [...paths.keys()].flatMap(path => path.split('.').map((_, at, all) => all.slice(0, at).join('.'))),
    )
  }

  /** Returns where the value ends that begins at `from` or behind white space. */
  value(from: number, path: string): number {
    const start = this.#skipSpace(from)
    if (this.#ways.has(path)) {
      if (this.#json[start] === '{') return this.#object(start, path)
      if (this.#json[start] === '[') return this.#list(start, path)
    }
    return this.#end(start)
  }

  #list(start: number, path: string): number {
    let at = this.#skipSpace(start + 1)
    while (this.#json[at] !== ']') {
      at = this.#skipSpace(this.value(at, path))
      if (this.#json[at] === ',') at = this.#skipSpace(at + 1)
    }
    return at + 1
  }

  #object(start: number, path: string): number {
    const members: Member[] = []
    let at = this.#skipSpace(start + 1)
    while (this.#json[at] !== '}') {
      const keyTo = this.#stringEnd(at)
      const key = this.#key(at, keyTo)
      const colon = this.#skipSpace(keyTo)
      const valueTo = this.value(colon + 1, path === '' ? key : `${path}.${key}`)
      members.push({ key, keyFrom: at, keyTo, valueTo })
      at = this.#skipSpace(valueTo)
      if (this.#json[at] === ',') at = this.#skipSpace(at + 1)
    }
    this.#cut(members, path)
    return at + 1
  }

  #cut(members: readonly Member[], path: string): void {
    let survivor: Member | undefined
    members.forEach((member, at) => {
      const full = path === '' ? member.key : `${path}.${member.key}`
      if (!this.#paths.has(full)) {
        survivor = member
        return
      }
      const name = this.#paths.get(full)
      if (name !== undefined && !members.some(({ key }) => key === name)) {
        survivor = member
        this.cuts.push({ from: member.keyFrom, to: member.keyTo, text: JSON.stringify(name) })
        return
      }
      this.removed.add(full)
      const next = members[at + 1]
      // The last one's comma stands before it, behind the last member that stays.
      if (next) this.cuts.push({ from: member.keyFrom, to: next.keyFrom, text: '' })
      else this.cuts.push({ from: survivor?.valueTo ?? member.keyFrom, to: member.valueTo, text: '' })
    })
  }

  /** Where the value ends that begins at `start`. */
  #end(start: number): number {
    const first = this.#json[start]
    if (first === '"') return this.#stringEnd(start)
    if (first !== '{' && first !== '[') return this.#scalarEnd(start)
    let depth = 0
    for (let at = start; ; at++) {
      const one = this.#json[at]
      if (one === '"') at = this.#stringEnd(at) - 1
      else if (one === '{' || one === '[') depth++
      else if ((one === '}' || one === ']') && --depth === 0) return at + 1
    }
  }

  #scalarEnd(start: number): number {
    let at = start
    while (at < this.#json.length && !',]} \n\r\t'.includes(this.#json[at]!)) at++
    return at
  }

  /** Behind the quote that closes the string opened at `start`. */
  #stringEnd(start: number): number {
    let end = start
    for (;;) {
      end = this.#json.indexOf('"', end + 1)
      let slashes = 0
      while (this.#json[end - 1 - slashes] === '\\') slashes++
      if (slashes % 2 === 0) return end + 1
    }
  }

  #key(from: number, to: number): string {
    const text = this.#json.slice(from + 1, to - 1)
    return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
  }

  #skipSpace(at: number): number {
    space.lastIndex = at
    space.exec(this.#json)
    return space.lastIndex
  }
}
