// Shows what a person is told while no page is open, and opens it. Browsers keep the address of this
// file.
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil(show(event.data)));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(pathOf(event.notification.data)));
});

/** Under its tag a double takes the place of the first one. A page that shows it needs no notice. */
async function show(data) {
  const { title, body, path, tag } = read(data);
  const target = pathOf(path);
  const pages = await pagesHere();
  const place = new URL(target, self.location.origin).pathname;
  const isSeen = pages.some(
    ({ url, visibilityState }) =>
      visibilityState === "visible" && new URL(url).pathname === place && place !== "/",
  );
  if (isSeen) return;
  await self.registration.showNotification(typeof title === "string" ? title : "dure", {
    body: typeof body === "string" ? body : "",
    tag: typeof tag === "string" ? tag : undefined,
    data: target,
    icon: "/mark.svg",
  });
}

function read(data) {
  try {
    return data?.json() ?? {};
  } catch {
    return {}; // no JSON: something waits, and it is not known what
  }
}

/** An address of this site alone. */
function pathOf(path) {
  const url = URL.canParse(path, self.location.origin) && new URL(path, self.location.origin);
  return url && url.origin === self.location.origin ? url.pathname + url.hash : "/";
}

function pagesHere() {
  return self.clients.matchAll({ type: "window", includeUncontrolled: true });
}

async function open(path) {
  const pages = await pagesHere();
  const page = pages.find(({ focused }) => focused) ?? pages[0];
  try {
    const shown = page && (await page.navigate(path));
    if (shown) return await shown.focus();
  } catch {
    // A page of before this worker cannot be led.
  }
  return self.clients.openWindow(path);
}
