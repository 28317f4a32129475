/** What a page shows is in its address: filters, ranges, what is open. */
import { useMatch, useNavigate, useParams, useRouter, useSearch } from '@tanstack/react-router'

/** The search of an address: every value is a text. */
export type SearchValues = Readonly<Record<string, string | undefined>>

/** `?a=b` as texts, without the quotes and guesses of the router's own way. */
export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text))
}

/** Values that are empty are left out. */
export function writeSearch(values: Record<string, unknown>): string {
  const kept = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const text = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}

/** One value of the address, and the function that changes it; `fallback` is not written into the address. */
export function useSearchValue(name: string, fallback = ''): [value: string, set: (value: string) => void] {
  const search: SearchValues = useSearch({ strict: false })
  const change = useChangeSearch()
  return [search[name] ?? fallback, value => change({ [name]: value === fallback ? undefined : value })]
}

/**
 * What is open beside a list or over it, such as `?key=...`: its name, `''` = nothing; the function that opens another;
 * and the one that closes this one. What a deletion closes when it is done may have been replaced meanwhile, by the
 * back button for one: then it closes nothing.
 */
export function useOpened(name: string): [value: string, open: (value: string) => void, close: () => void] {
  const [value, open] = useSearchValue(name)
  const router = useRouter()
  const isShown = () => (router.latestLocation.search as SearchValues)[name] === value
  return [value, open, () => isShown() && open('')]
}

/** Something that is open or not, such as the dialog that makes a thing: `?new=1`. */
export function useSearchFlag(name: string): [isSet: boolean, set: (isSet: boolean) => void] {
  const [value, change] = useSearchValue(name)
  return [value !== '', isSet => change(isSet ? '1' : '')]
}

/**
 * Changes several values at once; undefined removes one. `push` = the back button returns to what was. Once another
 * page is shown, it changes nothing: the address is that page's.
 */
export function useChangeSearch(): (values: SearchValues, options?: { push?: boolean }) => void {
  const navigate = useNavigate()
  const router = useRouter()
  const own = useMatch({ strict: false, select: match => match.pathname })
  return (values, { push = false } = {}) => {
    if (withoutSlash(router.latestLocation.pathname) !== withoutSlash(own)) return
    void navigate({
      to: '.',
      search: (before: Record<string, unknown>) => ({ ...before, ...values }),
      replace: !push,
    } as Parameters<typeof navigate>[0])
  }
}

const withoutSlash = (path: string): string => path.replace(/\/$/, '')

/**
 * A `$name` of the page's path.
 * @public
 */
export function usePathValue(name: string): string {
  const values: Readonly<Record<string, string | undefined>> = useParams({ strict: false })
  return values[name] ?? ''
}
