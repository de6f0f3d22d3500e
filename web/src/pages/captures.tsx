// What was captured of an address, and the view of one: as it was, unable to do anything.
import { api } from '../core/api';
import { plural, typeName, when } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import { usePlace } from '../core/router';
import { onlyCollection } from '../core/session';
import type { Capture, Page } from '../core/types';
import { capturesHref, isViewable } from '../parts/crawl_words';
import { Empty, Icon } from '../parts/icons';
import { Await } from '../parts/state';
import '../style/crawls.css';
import '../style/work.css';

function View({ capture }: { capture: Capture }) {
  return (
    <section class="panel capture" aria-labelledby="view">
      <header>
        <h2 id="view">As it was on {when(capture.at_us)}</h2>
        <a class="button" href={capture.address} download>
          <Icon name="download" /> Download
        </a>
      </header>
      <p class="asked">{capture.url}</p>
      <p class="note">
        This is a stored copy, not the site itself. Its scripts do not run, its links lead nowhere, and pictures and styles that
        it loads from elsewhere are missing.
      </p>
      {isViewable(capture) ? (
        // Nothing is allowed: no script, no form, no origin. The server's answer says so, too.
        <iframe class="capture-view" sandbox="" referrerpolicy="no-referrer" title={`Stored copy of ${capture.url}`} src={capture.address} />
      ) : (
        <p>{typeName(capture.type) || 'This'} cannot be shown here. Download it to look at it.</p>
      )}
    </section>
  );
}

function changed(capture: Capture): string {
  return capture.revisit ? 'the same as before' : 'new, or changed';
}

function Row({ capture, href, isShown }: { capture: Capture; href: string; isShown: boolean }) {
  return (
    <tr>
      <td>
        <a href={href} aria-current={isShown ? 'true' : undefined}>{when(capture.at_us)}</a>
        {isShown && <span class="said quiet">shown</span>}
      </td>
      <td>{capture.status}</td>
      <td>{typeName(capture.type)}</td>
      <td>{changed(capture)}</td>
      <td class="wide-only">{capture.warc}</td>
    </tr>
  );
}

function List({ captures, collection, shown }: { captures: Capture[]; collection: string; shown: string }) {
  return (
    <section class="panel" aria-labelledby="captures">
      <h2 id="captures">{plural(captures.length, 'capture')}</h2>
      <div class="scroll-x" tabIndex={0} role="region" aria-label="Table: captures">
        <table class="captures">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Answer</th>
              <th scope="col">Type</th>
              <th scope="col">What it brought</th>
              <th scope="col" class="wide-only">In the archive</th>
            </tr>
          </thead>
          <tbody>
            {captures.map((one) => (
              <Row key={`${one.timestamp} ${one.digest}`} capture={one} href={capturesHref(one.url, collection, one.timestamp)} isShown={one.timestamp === shown} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function None({ url }: { url: string }) {
  return (
    <Empty title={url === '' ? 'Which address?' : 'Nothing was captured of this address'}>
      <p>
        A capture is what a site answered at one time, kept as it was. The pages of <a href="/crawls">a crawl</a> lead to theirs;
        a crawl also tells why an address is not there.
      </p>
    </Empty>
  );
}

export default function CapturesPage() {
  const { query } = usePlace();
  const url = query.get('url') ?? '';
  const collection = onlyCollection() ?? query.get('collection') ?? '';
  const at = query.get('at') ?? '';
  useTitle(url === '' ? 'Captures' : `Captures of ${url}`);
  const path = url === '' ? null : api(['captures'], { url, collection });
  const list = useResource<Page<Capture>>(path, { on: ['page.captured'], when: (event) => event.data.url === url });
  return (
    <>
      <div class="heading">
        <h1>Captures</h1>
      </div>
      {url !== '' && at === '' && <p class="asked">{url}</p>}
      {path === null ? <None url="" /> : (
        <Await from={list}>
          {({ items }) => {
            if (items.length === 0) return <None url={url} />;
            const shown = at === 'newest' ? items[0] : items.find((one) => one.timestamp === at);
            return (
              <>
                {shown && <View key={shown.address} capture={shown} />}
                {at !== '' && !shown && <p class="note">There is no capture of that time.</p>}
                <List captures={items} collection={collection} shown={shown?.timestamp ?? ''} />
              </>
            );
          }}
        </Await>
      )}
    </>
  );
}
