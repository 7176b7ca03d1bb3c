// Addresses of servers: which are taken, and what of them is never shown.
import { needEndpoint } from "../../lib/experience/endpoint";

const OP = "remoteReward";

test.each(["http://host/score", "https://host/score", "https://host:8443"])("%s is taken", (url) => {
  expect(needEndpoint(OP, url, {}).url.href).toBe(new URL(url).href);
});

test.each(["ftp://host/score", "host/score", "file:///score", "", "https//host"])(
  "%p is refused, and not shown",
  (url) => {
    expect(() => needEndpoint(OP, url, {})).toThrow(/^remoteReward: url .*expected an address that begins with http/);
    if (url !== "") expect(() => needEndpoint(OP, url, {})).not.toThrow(url);
  },
);

test("a name and a password become a header, unless there is one", () => {
  const { url, headers } = needEndpoint(OP, "https://me:se%20cret@host/", {});
  expect([url.username, url.password]).toEqual(["", ""]);
  expect(headers.get("authorization")).toBe(`Basic ${Buffer.from("me:se cret").toString("base64")}`);
  const own = needEndpoint(OP, "https://me:secret@host/", { authorization: "Bearer mine" });
  expect(own.headers.get("authorization")).toBe("Bearer mine");
});
